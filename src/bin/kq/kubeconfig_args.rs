//! The flags that name the API server and its user, which are kubectl's.

use kq_api::api_server::KubeconfigChoice;
use std::path::PathBuf;

/// What is chosen in the kubeconfig, and said over it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ChoiceArgs {
    /// The context in the kubeconfig
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// The cluster in the kubeconfig (default: that of the context)
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    cluster: Option<String>,

    /// The user in the kubeconfig (default: that of the context)
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    user: Option<String>,

    /// The user to impersonate in requests to the API server
    #[arg(long = "as", value_name = "USER", hide_short_help = true)]
    act_as: Option<String>,

    /// A group to impersonate (can be repeated)
    #[arg(long = "as-group", value_name = "GROUP", hide_short_help = true)]
    act_as_group: Vec<String>,

    /// The UID to impersonate
    #[arg(long = "as-uid", value_name = "UID", hide_short_help = true)]
    act_as_uid: Option<String>,
}

/// The kubeconfig for the API server of a cluster.
#[derive(Clone, Debug, clap::Args)]
pub struct ServerArgs {
    /// The kubeconfig for the API server (default: $KUBECONFIG, ~/.kube/config)
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    #[command(flatten)]
    pub choice: ChoiceArgs,
}

impl ChoiceArgs {
    /// Returns the choice.
    pub fn choice(&self) -> KubeconfigChoice {
        let flags = self.clone();
        KubeconfigChoice {
            context: flags.context,
            cluster: flags.cluster,
            user: flags.user,
            act_as: flags.act_as,
            act_as_groups: flags.act_as_group,
            act_as_uid: flags.act_as_uid,
        }
    }

    /// Returns the flags that are given.
    pub fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            (self.context.is_some(), "--context"),
            (self.cluster.is_some(), "--cluster"),
            (self.user.is_some(), "--user"),
            (self.act_as.is_some(), "--as"),
            (!self.act_as_group.is_empty(), "--as-group"),
            (self.act_as_uid.is_some(), "--as-uid"),
        ];
        given.into_iter().filter(|(is_given, _)| *is_given).map(|(_, flag)| flag)
    }
}
