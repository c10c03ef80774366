//! Variants with several sentences, with one fact without a name, and facts that are shown short.

use super::*;
use serde::Serialize;
use serde_json::json;

/// Why pods are killed.
#[derive(Clone, Debug, Default, PartialEq, Reason)]
#[reason(case = "PascalCase")]
enum Kill {
    #[default]
    #[text("it fits")]
    Fits,
    #[text(pods: 0, admitted: true => "no pod is killed")]
    #[text(pods: 1 => "one pod is killed{then}", then = then(*admitted))]
    #[text(pods: 2, admitted: true => format!("both pods{}", then(true)))]
    #[text("{pods} pods are killed{then}", then = then(*admitted))]
    Pods { pods: usize, admitted: bool },
    #[text(limit: Some(limit @ (1 | 2)) if limit < over => "{over} over {limit}")]
    #[text(if *over > 9 => "{how} over", how = if *over > 99 { "far" } else { "well" })]
    #[text("{largest} over", largest = [over].into_iter().fold(0, |a: u32, b| a.max(*b)))]
    Over {
        limit: Option<u32>,
        #[serde(skip)]
        over: u32,
    },
    #[text("the call failed: {0}")]
    Failed(Call),
}

/// Which call failed.
#[derive(Clone, Debug, PartialEq, Reason)]
#[reason(plain)]
enum Call {
    #[text(0: Amount(0) => "nothing was sent")]
    #[text("sent {0}, and no more")]
    Sent(Amount),
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
struct Amount(u32);

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match f.alternate() {
            true => write!(f, "{}Ki", self.0 / 1024),
            false => write!(f, "{} bytes", self.0),
        }
    }
}

fn then(admitted: bool) -> &'static str {
    if admitted { ", and it is admitted" } else { "" }
}

#[test]
fn the_first_sentence_that_holds_is_the_text() {
    let pods = |pods, admitted| Kill::Pods { pods, admitted };
    let over = |limit, over| Kill::Over { limit, over };
    for (kill, text) in [
        (Kill::default(), "it fits"),
        (pods(0, true), "no pod is killed"),
        (pods(0, false), "0 pods are killed"),
        (pods(1, true), "one pod is killed, and it is admitted"),
        (pods(2, true), "both pods, and it is admitted"),
        (pods(2, false), "2 pods are killed"),
        (over(Some(2), 3), "3 over 2"),
        (over(Some(3), 4), "4 over"),
        (over(None, 10), "well over"),
        (over(Some(2), 1), "1 over"),
        (over(None, 100), "far over"),
    ] {
        assert_eq!(kill.to_string(), text, "{kill:?}");
        let codes: Vec<_> = Kill::TEMPLATES.iter().filter(|it| it.code == kill.code()).collect();
        // A text that an expression makes has no template that fits.
        let is_known = codes.iter().any(|it| it.recognise(text).is_some());
        assert_eq!(is_known, kill != pods(2, true), "{text}: {codes:?}");
    }
    assert_eq!(Kill::TEMPLATES.len(), 9);
}

#[test]
fn a_fact_without_a_name_is_written_as_serde_does() {
    let of = |amount| Kill::Failed(Call::Sent(Amount(amount)));
    assert_eq!(of(0).to_string(), "the call failed: nothing was sent");
    assert_eq!(of(2048).to_string(), "the call failed: sent 2048 bytes, and no more");
    assert_eq!(format!("{:#}", of(2048)), "the call failed: sent 2Ki, and no more");
    assert_eq!(format!("{:>60}", of(0)), "the call failed: nothing was sent");
    let json = serde_json::to_value(of(1)).expect("it can be written");
    assert_eq!(json, json!({"code": "Failed", "sent": 1}));
}
