package numa
