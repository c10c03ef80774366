//! What is chosen in a kubeconfig, and said over it.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;

/// What is chosen in a kubeconfig and said over it, by kubectl's flags; `None`: as the kubeconfig has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KubeconfigChoice {
    /// `--context`
    pub context: Option<String>,
    /// `--cluster`, over that of the context.
    pub cluster: Option<String>,
    /// `--user`, over that of the context.
    pub user: Option<String>,
    /// `--as`: the user that is impersonated.
    pub act_as: Option<String>,
    /// `--as-group`, over the kubeconfig's; empty: not given.
    pub act_as_groups: Vec<String>,
    /// `--as-uid`
    pub act_as_uid: Option<String>,
}

impl KubeconfigChoice {
    /// Returns the flags that make this choice, each in one argument.
    pub fn flags(&self) -> Vec<OsString> {
        let Self { context, cluster, user, act_as, act_as_groups, act_as_uid } = self;
        let one = |flag: &'static str, value: &Option<String>| {
            value.as_ref().map(|value| format!("--{flag}={value}"))
        };
        let groups = act_as_groups.iter().map(|group| format!("--as-group={group}"));
        let flags = [
            one("context", context),
            one("cluster", cluster),
            one("user", user),
            one("as", act_as),
            one("as-uid", act_as_uid),
        ];
        flags.into_iter().flatten().chain(groups).map(OsString::from).collect()
    }

    /// Returns the first flag that names an entry of a kubeconfig.
    #[cfg(feature = "apiserver")]
    pub(super) fn first_entry(&self) -> Option<&'static str> {
        let Self { context, cluster, user, .. } = self;
        let given = [(context, "--context"), (cluster, "--cluster"), (user, "--user")];
        given.into_iter().find_map(|(value, flag)| value.is_some().then_some(flag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_written_as_flags() {
        assert!(KubeconfigChoice::default().flags().is_empty());
        let choice = KubeconfigChoice {
            context: Some("a b".to_owned()),
            cluster: Some("c".to_owned()),
            user: Some("d".to_owned()),
            act_as: Some("-e".to_owned()),
            act_as_groups: vec!["f".to_owned(), "g".to_owned()],
            act_as_uid: Some("7".to_owned()),
        };
        let expected = [
            "--context=a b",
            "--cluster=c",
            "--user=d",
            "--as=-e",
            "--as-uid=7",
            "--as-group=f",
            "--as-group=g",
        ];
        assert_eq!(choice.flags(), expected);
    }
}
