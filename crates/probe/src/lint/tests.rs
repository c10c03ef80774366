use super::*;

/// Returns what is found in a container: severity, rule and the end of the field.
fn found(spec: &str) -> Vec<String> {
    let pod = format!(r#"{{"metadata":{{"namespace":"n","name":"p"}},"spec":{spec}}}"#);
    let pod: Pod = serde_json::from_str(&pod).unwrap();
    let lint = ProbeLint::of([&pod]);
    let line = |finding: &Finding| {
        assert!(finding.why.is_some() && finding.advice.is_some(), "{}", finding.id);
        assert_eq!(finding.subject.to_string(), "n/p c");
        let field =
            finding.subject.place().unwrap_or_default().trim_start_matches("spec.containers[0].");
        format!("{} {} {field}: {}", finding.severity, finding.id, finding.found)
    };
    lint.items.iter().map(line).collect()
}

fn in_container(fields: &str) -> Vec<String> {
    found(&format!(r#"{{"containers":[{{"name":"c",{fields}}}]}}"#))
}

/// Numbers that nothing is said about.
const FINE: &str = r#""timeoutSeconds":2,"failureThreshold":9"#;

#[test]
fn times() {
    let rows: [(&str, &str, &[&str]); 10] = [
        (
            "nothing to say",
            r#""livenessProbe":{"exec":{"command":["a"]},"timeoutSeconds":2,"failureThreshold":9}"#,
            &[],
        ),
        (
            "defaults",
            r#""livenessProbe":{"tcpSocket":{"port":1}}"#,
            &[
                "INFO no-startup-probe livenessProbe: a container that does not answer is killed 20 s to 31 s after its start (initialDelaySeconds 0, periodSeconds 10, failureThreshold 3, timeoutSeconds 1)",
            ],
        ),
        (
            "soon",
            r#""livenessProbe":{"tcpSocket":{"port":1},"periodSeconds":5,"initialDelaySeconds":4}"#,
            &[
                "WARNING no-startup-probe livenessProbe: a container that does not answer is killed 14 s to 20 s after its start (initialDelaySeconds 4, periodSeconds 5, failureThreshold 3, timeoutSeconds 1)",
            ],
        ),
        (
            "a startup probe covers it",
            r#""startupProbe":{"tcpSocket":{"port":1},"failureThreshold":30},"livenessProbe":{"tcpSocket":{"port":1},"initialDelaySeconds":5}"#,
            &[
                "INFO delay-beside-startup livenessProbe.initialDelaySeconds: counts 5 s from the start of the container, not from the end of its startup probe",
            ],
        ),
        (
            "or does not",
            r#""startupProbe":{"tcpSocket":{"port":1},"periodSeconds":1,"failureThreshold":5}"#,
            &[
                "WARNING short-startup startupProbe: a container that does not answer is killed 4 s to 6 s after its start (initialDelaySeconds 0, periodSeconds 1, failureThreshold 5, timeoutSeconds 1)",
            ],
        ),
        (
            "long timeout",
            r#""readinessProbe":{"tcpSocket":{"port":1},"timeoutSeconds":6,"periodSeconds":5}"#,
            &[
                "WARNING timeout-above-period readinessProbe.timeoutSeconds: a probe may take 6 s and is due every 5 s",
            ],
        ),
        (
            "command",
            r#""readinessProbe":{"exec":{"command":["a"]},"failureThreshold":1}"#,
            &[
                "INFO exec-one-second readinessProbe.timeoutSeconds: the command has 1 s, including the start by the runtime",
                "INFO single-failure readinessProbe.failureThreshold: one probe that fails takes the pod out of its services",
            ],
        ),
        (
            "one failure",
            r#""livenessProbe":{"tcpSocket":{"port":1},"failureThreshold":1,"initialDelaySeconds":60}"#,
            &[
                "WARNING single-failure livenessProbe.failureThreshold: one probe that fails, or takes longer than 1 s, kills the container",
            ],
        ),
        (
            "late",
            r#""readinessProbe":{"tcpSocket":{"port":1},"periodSeconds":300,"successThreshold":3}"#,
            &[
                "INFO late-failure readinessProbe: a container that stops answering receives no more requests up to 901 s later (periodSeconds 300, failureThreshold 3)",
                "INFO late-success readinessProbe.successThreshold: a container is ready at the earliest 600 s after its first success (3 of them, every 300 s)",
            ],
        ),
        (
            "grace",
            r#""livenessProbe":{"tcpSocket":{"port":1},"failureThreshold":9,"terminationGracePeriodSeconds":31}"#,
            &[
                "INFO longer-grace-period livenessProbe.terminationGracePeriodSeconds: a container that failed this probe has 31 s to stop, any other 30 s",
            ],
        ),
    ];
    for (name, fields, expected) in rows {
        assert_eq!(in_container(fields), expected, "{name}");
    }
    // The largest numbers overflow nothing.
    let most = i32::MAX;
    let numbers = format!(
        r#""initialDelaySeconds":{most},"timeoutSeconds":{most},"periodSeconds":{most},"failureThreshold":{most},"successThreshold":{most}"#
    );
    let probe = format!(r#"{{"tcpSocket":{{"port":1}},{numbers}}}"#);
    let all = format!(r#""startupProbe":{probe},"readinessProbe":{probe},"livenessProbe":{probe}"#);
    assert!(!in_container(&all).is_empty());
    assert!(!in_container(&all.replace(&most.to_string(), &i32::MIN.to_string())).is_empty());
}

#[test]
fn handlers() {
    let get =
        |fields: &str| in_container(&format!(r#""readinessProbe":{{"httpGet":{{{fields}}}}}"#));
    let rows: [(&str, &str, &[&str]); 14] = [
        ("fine", r#""port":80,"path":"healthz?a b""#, &[]),
        (
            "name",
            r#""port":"web""#,
            &[
                r#"WARNING unknown-port-name readinessProbe.httpGet.port: no port of the container is named web: strconv.Atoi: parsing "web": invalid syntax"#,
            ],
        ),
        (
            "loopback",
            r#""port":80,"host":"127.0.0.2""#,
            &[
                "WARNING host-is-the-node readinessProbe.httpGet.host: 127.0.0.2 is the node, not the pod",
            ],
        ),
        (
            "loopback of IPv6",
            r#""port":80,"host":"::1""#,
            &["WARNING host-is-the-node readinessProbe.httpGet.host: ::1 is the node, not the pod"],
        ),
        (
            "other host",
            r#""port":80,"host":"example.com""#,
            &[
                "INFO other-host readinessProbe.httpGet.host: the request goes to example.com instead of the pod's IP",
            ],
        ),
        (
            "broken host",
            r#""port":80,"host":"a b""#,
            &[
                r#"WARNING no-request readinessProbe.httpGet: no request can be built: parse "http://a%20b:80/": invalid URL escape "%20""#,
                "INFO other-host readinessProbe.httpGet.host: the request goes to a b instead of the pod's IP",
            ],
        ),
        (
            "HTTPS",
            r#""port":80,"scheme":"HTTPS""#,
            &[
                "INFO https-not-verified readinessProbe.httpGet.scheme: the certificate is not verified: neither name, dates nor issuer",
            ],
        ),
        (
            "headers",
            r#""port":80,"httpHeaders":[{"name":"accept","value":""},{"name":"Host","value":"a"},{"name":"host","value":"b"},{"name":"Trailer","value":"x"}]"#,
            &[
                "WARNING header-not-sent readinessProbe.httpGet.httpHeaders[2]: only the first host is sent",
                "WARNING header-not-sent readinessProbe.httpGet.httpHeaders[3]: Trailer is not sent",
                "INFO no-accept-header readinessProbe.httpGet.httpHeaders[0]: no header Accept is sent, nor further values",
            ],
        ),
        (
            "header that cannot be sent",
            r#""port":80,"httpHeaders":[{"name":"X","value":"a\n"}]"#,
            &[
                r#"WARNING request-refused readinessProbe.httpGet: every probe fails: net/http: invalid header field value for "X""#,
            ],
        ),
        ("withheld header", r#""port":80,"httpHeaders":[{"name":"X","valueWithheld":true}]"#, &[]),
        (
            "opaque",
            r#""port":80,"path":"a:b""#,
            &[
                "WARNING request-refused readinessProbe.httpGet: every probe fails: http: no Host in request URL",
            ],
        ),
        (
            "fragment",
            r#""port":80,"path":"/a#b""#,
            &["INFO path-rewritten readinessProbe.httpGet.path: the request is for /a"],
        ),
        (
            "no reference",
            r#""port":80,"path":"/%?a""#,
            &["INFO path-rewritten readinessProbe.httpGet.path: the request is for /%25%3Fa"],
        ),
        (
            "other host in the path",
            r#""port":80,"path":"//a/b""#,
            &["INFO path-rewritten readinessProbe.httpGet.path: the request is for /b"],
        ),
    ];
    for (name, fields, expected) in rows {
        assert_eq!(get(fields), expected, "{name}");
    }
}

#[test]
fn handlers_and_others() {
    let both = |liveness: &str, readiness: &str| {
        in_container(&format!(
            r#""livenessProbe":{{"tcpSocket":{{"port":1}},{liveness}}},"readinessProbe":{{"tcpSocket":{{"port":1}},{readiness}}}"#
        ))
    };
    assert_eq!(
        both(FINE, FINE),
        [
            "WARNING same-handler livenessProbe: is identical to the readiness probe; about 90 s of failures kill the container, about 90 s stop requests"
        ]
    );
    assert_eq!(
        both(FINE, r#""failureThreshold":3"#),
        [
            "INFO same-handler livenessProbe: is identical to the readiness probe; about 90 s of failures kill the container, about 30 s stop requests"
        ]
    );
    let ports = r#""ports":[{"name":"web","containerPort":8080}]"#;
    assert_eq!(
        in_container(&format!(r#"{ports},"readinessProbe":{{"tcpSocket":{{"port":"web"}}}}"#)),
        [""; 0]
    );
    assert_eq!(
        in_container(&format!(r#"{ports},"readinessProbe":{{"grpc":{{"port":8081}}}}"#)),
        [
            "INFO undeclared-port readinessProbe.grpc.port: the container does not list port 8081",
            "INFO grpc-plaintext readinessProbe.grpc: the kubelet speaks gRPC without TLS only",
        ]
    );
    let on_node = |host: &str| {
        found(&format!(
            r#"{{"hostNetwork":true,"containers":[{{"name":"c","readinessProbe":{{"tcpSocket":{{"port":1,"host":"{host}"}}}}}}]}}"#
        ))
    };
    assert_eq!(on_node("localhost"), [""; 0]);
    assert_eq!(
        on_node(""),
        [
            "INFO host-network readinessProbe.tcpSocket: the pod uses the host network: the port is one of the node's"
        ]
    );
}

#[test]
fn variables() {
    let command = |text: &str| {
        in_container(&format!(
            r#""env":[{{"name":"A","value":"1"}},{{"name":"B","valueFrom":{{"fieldRef":{{}}}}}}],
               "readinessProbe":{{"timeoutSeconds":2,"exec":{{"command":["x","{text}"]}}}}"#
        ))
    };
    let unknown = |name: &str| {
        format!(
            "WARNING unknown-variable readinessProbe.exec.command[1]: $({name}) is not expanded: the container does not define the variable"
        )
    };
    for (name, text, expected) in [
        ("known", "$(A)", vec![]),
        ("escaped", "$$(C)$$", vec![]),
        ("of a shell", "$C ${C} $", vec![]),
        ("not closed", "$(C", vec![]),
        ("unknown", "a$(C)b", vec![unknown("C")]),
        ("dollar after an escape", "$$$(C)", vec![unknown("C")]),
        ("nested", "$($(A))", vec![]),
        ("a command with words", "$(cat file)", vec![]),
        ("a default", "$(FOO:-x)", vec![]),
        ("arithmetic", "$((1+2))", vec![]),
        ("nothing", "$()", vec![]),
        ("a digit first", "$(1)", vec![]),
        ("lower case and dots", "$(my.variable-1)", vec![unknown("my.variable-1")]),
        (
            "from elsewhere",
            "$(B)",
            vec!["WARNING variable-from-elsewhere readinessProbe.exec.command[1]: $(B) expands to an empty text: it uses valueFrom".to_owned()],
        ),
    ] {
        assert_eq!(command(text), expected, "{name}");
    }
}

#[test]
fn substitutions_of_a_shell_are_none() {
    let scripted = |shell: &str, text: &str| {
        let found = in_container(&format!(
            r#""readinessProbe":{{"timeoutSeconds":2,"exec":{{"command":[{shell},"{text}"]}}}}"#
        ));
        found.len()
    };
    for (shell, text, count) in [
        (r#""sh","-c""#, "test $(date) = $(hostname)", 0),
        (r#""/bin/bash","-ec""#, "test $(cat /tmp/a) $((1 + 2))", 0),
        (r#""/bin/sh","-c""#, "test $(HOME)", 1),
        // Not for a shell: nothing else would run it.
        (r#""echo","-c""#, "$(date)", 1),
        (r#""sh""#, "$(date)", 1),
    ] {
        assert_eq!(scripted(shell, text), count, "{shell} {text}");
    }
}

#[test]
fn without_its_gate_a_command_that_hangs_never_fails() {
    let pod: Pod = serde_json::from_str(
        r#"{"spec":{"containers":[{"name":"c","livenessProbe":
            {"exec":{"command":["a"]},"timeoutSeconds":1,"failureThreshold":1,"periodSeconds":90}}]}}"#,
    )
    .unwrap();
    let ids = |fails_on_timeout| {
        let items = ProbeLint::by([&pod], fails_on_timeout).items.into_iter();
        items.map(|it| (it.id, it.found)).collect::<Vec<_>>()
    };
    let has = |found: &[(String, String)], id: &str| found.iter().any(|(of, _)| *of == id);
    let (on, off) = (ids(true), ids(false));
    assert!(has(&on, "exec-one-second") && !has(&on, "exec-timeout-ignored"), "{on:?}");
    assert!(has(&off, "exec-timeout-ignored") && !has(&off, "exec-one-second"), "{off:?}");
    assert!(on.iter().any(|(_, found)| found.contains("or takes longer than 1 s")), "{on:?}");
    assert!(off.iter().all(|(_, found)| !found.contains("or takes longer")), "{off:?}");
}

#[test]
fn sidecars_are_judged_and_probes_of_other_init_containers_are_refused() {
    let pod: Pod = serde_json::from_str(
        r#"{"spec":{"initContainers":[
            {"livenessProbe":{"tcpSocket":{"port":1}}},
            {"restartPolicy":"Always","livenessProbe":{"tcpSocket":{"port":1},"periodSeconds":5}}]}}"#,
    )
    .unwrap();
    let lint = ProbeLint::of([&pod, &Pod::default()]);
    let items = lint.items.iter();
    let found: Vec<_> = items
        .map(|it| {
            format!("{} {}: {}", it.severity, it.subject.place().unwrap_or_default(), it.found)
        })
        .collect();
    assert_eq!(
        found[0],
        "ERROR spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers \
         without restartPolicy=Always"
    );
    assert!(found[1].starts_with("WARNING spec.initContainers[1].livenessProbe: "), "{found:?}");
    assert!(lint.items.iter().any(Finding::is_problem));
    assert_eq!(lint.summary["ERROR"], 1);
    assert_eq!(lint.summary["WARNING"], 1);
    assert_eq!(lint.summary["INFO"], 0);
}

#[test]
fn commands_in_one_word_and_fields_that_are_none_are_found() {
    let pod: Pod = serde_json::from_str(
        r#"{"spec":{"containers":[{"name":"c","readinessProbe":{"timeoutSeconds":5,
            "exec":{"command":["curl -f localhost:8080"]}}}]}}"#,
    )
    .unwrap();
    let unknown = ("Pod p".to_owned(), "spec.x".to_owned(), Some("y"));
    let lint = ProbeLint::of([&pod]).with_unknown_fields([unknown]);
    let found: Vec<_> = lint
        .items
        .iter()
        .map(|it| (it.id.as_str(), it.subject.place().unwrap_or_default()))
        .collect();
    let command = "spec.containers[0].readinessProbe.exec.command[0]";
    assert_eq!(found, [("one-word", command), ("unknown-field", "spec.x")]);
    assert_eq!((lint.summary["WARNING"], lint.probes), (2, 1));
}

#[test]
fn commands_that_are_started_often_are_counted() {
    let pod = |period: i32| -> Pod {
        let probe = format!(r#"{{"exec":{{"command":["a"]}},"periodSeconds":{period}}}"#);
        let text = format!(
            r#"{{"metadata":{{"namespace":"n","name":"p"}},"spec":{{"containers":[{{"name":"c",
               "startupProbe":{probe},"readinessProbe":{probe},"livenessProbe":{probe}}}]}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    };
    let found = |pods: &[&Pod], of_node| {
        let lint = ProbeLint::of([]).with_exec_rate(pods, of_node);
        lint.items.iter().map(|finding| finding.found.clone()).collect::<Vec<_>>()
    };
    let (seldom, often) = (pod(10), pod(4));
    assert_eq!(found(&[&seldom], false), [""; 0]);
    assert_eq!(found(&[&often], false), ["2 exec probes start 30 processes per minute"]);
    assert_eq!(found(&[&often], true), [""; 0]);
    let all = [&often, &often, &seldom];
    assert_eq!(found(&all, true), ["6 exec probes start 72 processes per minute"]);
    assert_eq!(found(&[&pod(0)], false).len(), 0, "the default is 10 s");
}
