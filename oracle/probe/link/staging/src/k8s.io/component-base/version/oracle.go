package version

// OracleVersion sets the version of the build, for the oracle's programs.
func OracleVersion(major, minor string) { gitMajor, gitMinor = major, minor }
