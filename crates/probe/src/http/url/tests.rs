use super::*;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn texts_come_back() {
    for (name, given, expected) in [
        ("plain", "http://a.b:80/c?d#e", "http://a.b:80/c?d#e"),
        ("scheme in upper case", "HTTP://A/", "http://A/"),
        ("no path", "http://a", "http://a"),
        ("lone question mark", "http://a?", "http://a?"),
        ("two question marks", "http://a/b??", "http://a/b??"),
        ("lone hash", "http://a/#", "http://a/"),
        ("opaque", "mailto:x@y?z", "mailto:x@y?z"),
        ("only a scheme", "a:", "a:"),
        ("no authority", "http:/a", "http:/a"),
        ("empty authority", "http:///a", "http:///a"),
        ("star", "*", "*"),
        ("three slashes", "///a", "///a"),
        ("authority alone", "//a/b", "//a/b"),
        ("user", "http://u@a/", "http://u@a/"),
        ("empty password", "http://u:@a/", "http://u:@a/"),
        ("escaped user", "http://u%40%3a:p%2F@a/", "http://u%40%3A:p%2F@a/"),
        ("two at signs", "http://u@v@a/", "http://u%40v@a/"),
        ("zone", "http://[fe80::1%25e%20th]:1/", "http://[fe80::1%25e%20th]:1/"),
        ("host beyond ASCII", "http://\u{fc}/", "http://%C3%BC/"),
        ("percent in a host", "http://a%25b/", "http://a%25b/"),
        ("empty port", "http://a:/", "http://a:/"),
        ("escapes are kept", "/a%2fb!", "/a%2fb!"),
        ("or all are rebuilt", "/a%2fb<", "/a/b%3C"),
        ("fragment", "/#a%2fb!'", "/#a%2fb!'"),
        ("fragment rebuilt", "/#a b'", "/#a%20b%27"),
        ("control character in the fragment", "/#\n", "/#%0A"),
        ("query as it is", "/?a b\"\u{fc}%zz", "/?a b\"\u{fc}%zz"),
        ("colon later", "a/b:c", "a/b:c"),
        ("digit first is no scheme", "1a/b", "1a/b"),
        ("colon after an escape", "%2a/:", "%2a/:"),
    ] {
        let url = Url::parse(given.as_bytes()).unwrap();
        assert_eq!(text(&url.text()), expected, "{name}");
    }
    assert_eq!(text(&Url::of_path(b"a:b").text()), "./a:b");
}

#[test]
fn refuses_as_go_does() {
    for (given, problem) in [
        ("\u{7f}", "parse \"\\x7f\": net/url: invalid control character in URL"),
        ("/a\n#b", "parse \"/a\\n\": net/url: invalid control character in URL"),
        (":8080/x", "parse \":8080/x\": missing protocol scheme"),
        ("a b:c", "parse \"a b:c\": first path segment in URL cannot contain colon"),
        ("1:2", "parse \"1:2\": first path segment in URL cannot contain colon"),
        ("/%zz?q#f", "parse \"/%zz?q\": invalid URL escape \"%zz\""),
        ("/#%zz", "parse \"/#%zz\": invalid URL escape \"%zz\""),
        ("//a b/", "parse \"//a b/\": invalid character \" \" in host name"),
        ("//a|b/", "parse \"//a|b/\": invalid character \"|\" in host name"),
        ("//a%41/", "parse \"//a%41/\": invalid URL escape \"%41\""),
        ("//a:x/", "parse \"//a:x/\": invalid port \":x\" after host"),
        ("//a:1:2/", "parse \"//a:1:2/\": invalid port \":1:2\" after host"),
        ("http://::1/", "parse \"http://::1/\": invalid port \"::1\" after host"),
        ("//a[::1]/", "parse \"//a[::1]/\": invalid IP-literal"),
        ("//[[::1]]/", "parse \"//[[::1]]/\": invalid IP-literal"),
        ("//[1.2.3.4]/", "parse \"//[1.2.3.4]/\": invalid IP-literal"),
        ("//[::1/", "parse \"//[::1/\": missing ']' in host"),
        ("//[::1]80/", "parse \"//[::1]80/\": invalid port \"80\" after host"),
        ("//[::1]:x/", "parse \"//[::1]:x/\": invalid port \":x\" after host"),
        ("//[]/", "parse \"//[]/\": invalid host: ParseAddr(\"\"): unable to parse IP"),
        (
            "//[a:80]/",
            "parse \"//[a:80]/\": invalid host: ParseAddr(\"a:80\"): address string too short",
        ),
        ("//[fe80::1%25%2f]/", "parse \"//[fe80::1%25%2f]/\": invalid URL escape \"%2f\""),
        ("//[fe80::1%eth]/", "parse \"//[fe80::1%eth]/\": invalid URL escape \"%et\""),
        ("//u\u{fc}@a/", "parse \"//u\u{fc}@a/\": net/url: invalid userinfo"),
        ("//u[@a/", "parse \"//u[@a/\": net/url: invalid userinfo"),
        ("//u%zz@a/", "parse \"//u%zz@a/\": invalid URL escape \"%zz\""),
        ("//u<@a|/", "parse \"//u<@a|/\": invalid character \"|\" in host name"),
    ] {
        let error = Url::parse(given.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), problem, "{given}");
    }
}

#[test]
fn hosts_have_a_name_and_a_port() {
    for (given, name, port) in [
        ("http://a:80", "a", "80"),
        ("http://a:", "a", ""),
        ("http://:80", "", "80"),
        ("http://[::1]:80", "::1", "80"),
        ("http://[::1]", "::1", ""),
        ("http://[fe80::1%25eth0]:8", "fe80::1%eth0", "8"),
        ("http:a:80", "", ""),
    ] {
        let url = Url::parse(given.as_bytes()).unwrap();
        assert_eq!((text(url.hostname()), text(url.port())), (name.into(), port.into()), "{given}");
    }
    assert_eq!(text(&join_host_port(b"a", b"1")), "a:1");
    assert_eq!(text(&join_host_port(b"[::1]", b"1")), "[[::1]]:1");
}

#[test]
fn asks_for_path_and_query() {
    for (given, expected) in [
        ("http://a", "/"),
        ("http://a?", "/?"),
        ("http://a/b?c d#e", "/b?c d"),
        ("http:b/c?d", "b/c?d"),
        ("http://a/*", "/*"),
        ("http://a//b", "//b"),
    ] {
        let url = Url::parse(given.as_bytes()).unwrap();
        assert_eq!(text(&url.request_uri()), expected, "{given}");
    }
}

#[test]
fn passwords_are_not_shown() {
    for (given, redacted, without_user) in [
        ("http://u:p@a/u:p@", "http://u:***@a/u:p@", "http://a/u:p@"),
        ("http://u@a/", "http://u@a/", "http://a/"),
        ("http://%3C:@a/", "http://<:***@a/", "http://a/"),
        ("http://a/", "http://a/", "http://a/"),
    ] {
        let url = Url::parse(given.as_bytes()).unwrap();
        assert_eq!(text(&url.redacted()), redacted, "{given}");
        assert_eq!(text(&url.without_user()), without_user, "{given}");
    }
}

#[test]
fn references_are_resolved() {
    // RFC 3986, section 5.4, and what is Go's own.
    for (base, reference, expected) in [
        ("http://a/b/c/d;p?q", "g:h", "g:h"),
        ("http://a/b/c/d;p?q", "g", "http://a/b/c/g"),
        ("http://a/b/c/d;p?q", "./g/", "http://a/b/c/g/"),
        ("http://a/b/c/d;p?q", "/g", "http://a/g"),
        ("http://a/b/c/d;p?q", "//g", "http://g"),
        ("http://a/b/c/d;p?q", "?y", "http://a/b/c/d;p?y"),
        ("http://a/b/c/d;p?q", "#s", "http://a/b/c/d;p?q#s"),
        ("http://a/b/c/d;p?q", "", "http://a/b/c/d;p?q"),
        ("http://a/b/c/d;p?q#f", "", "http://a/b/c/d;p?q#f"),
        ("http://a/b/c/d;p?q#f", "?", "http://a/b/c/d;p?"),
        ("http://a/b/c/d;p?q", ".", "http://a/b/c/"),
        ("http://a/b/c/d;p?q", "..", "http://a/b/"),
        ("http://a/b/c/d;p?q", "../..", "http://a/"),
        ("http://a/b/c/d;p?q", "../../../g", "http://a/g"),
        ("http://a/b/c/d;p?q", "/./g/.", "http://a/g/"),
        ("http://a/b/c/d;p?q", "g..", "http://a/b/c/g.."),
        ("http://a/b/c/d;p?q", "g;x=1/../y", "http://a/b/c/y"),
        ("http://a/b/c/d;p?q", "http:g", "http:g"),
        ("http://a", "g", "http://a/g"),
        ("http://a", ".//g", "http://a//g"),
        ("http://a/b", "//c/../d", "http://c/d"),
        ("http://a/b", "/..//g", "http://a/g"),
        ("http://a/b", "/.//g", "http://a//g"),
        ("http://u:p@a/b", "c", "http://u:p@a/c"),
        ("http://u:p@a/b", "//a/c", "http://a/c"),
        ("http://a/b", "//u@", "http://u@"),
        ("http://a/b%2fc/d", "e%2Ff", "http://a/b%2fc/e%2Ff"),
        ("http://a/b", "c<", "http://a/c%3C"),
        ("http:b?c", "", "http:b?c"),
        ("http://a/b", "*", "http://a/*"),
    ] {
        let url = Url::parse(base.as_bytes()).unwrap().join(reference.as_bytes()).unwrap();
        assert_eq!(text(&url.text()), expected, "{base} {reference}");
    }
}
