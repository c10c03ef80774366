//! The access of a pod's service account.

use super::tls::ServerTls;
use super::{Access, proxy_of_environment};
use crate::api_server::credentials::{Credentials, TokenFile};
use crate::api_server::{ApiError, KubeconfigChoice};
use crate::http::Target;
use crate::http::authorities::Authorities;
use crate::http::tls::Trust;
use kube::Config;
use rustls::RootCertStore;
use std::path::PathBuf;

/// Returns the access of a pod's service account. Its token is read again as the kubelet renews it.
pub(super) fn in_cluster(choice: &KubeconfigChoice) -> Result<Access, ApiError> {
    if let Some(flag) = choice.first_entry() {
        let reason = format!("{flag} names an entry of one, and there is none");
        return Err(ApiError::NoKubeconfig { reason });
    }
    let mut config = Config::incluster().map_err(|_| ApiError::NoKubeconfig {
        reason: "none in KUBECONFIG and ~/.kube/config, and kq does not run in a pod with \
                 a service account"
            .to_owned(),
    })?;
    let credentials = match config.auth_info.token_file.take() {
        Some(file) => {
            let token = TokenFile::new(super::NamedFiles::default(), PathBuf::from(file), None);
            Credentials::TokenFile(token?)
        }
        None => Credentials::Fixed(None),
    };
    let mut roots = RootCertStore::empty();
    let certificates = config.root_cert.iter().flatten().map(|der| der.clone().into());
    roots.add_parsable_certificates(certificates);
    let authorities = Authorities::signing(roots).ok_or_else(|| ApiError::NoKubeconfig {
        reason: "the service account of this pod has no certificate authority".to_owned(),
    })?;
    let server = ServerTls { trust: Trust::Authorities(authorities), name: None };
    let target = Target::parse(&config.cluster_url.to_string())?;
    config.auth_info = super::impersonation(config.auth_info, choice);
    let proxy = proxy_of_environment(&target, Some(&server))?;
    Access::new(config, Some(server), None, credentials, proxy)
}
