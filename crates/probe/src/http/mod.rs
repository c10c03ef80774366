//! HTTP probes: the request of the kubelet and the verdict on the response.
//!
//! The rules are those of the kubelet's `pkg/probe/http` and of the parts of Go's library that it uses,
//! read in Kubernetes 1.36.2 and Go 1.26; pinned by the vectors `probe_http.jsonl`.
//!
//! * `url`: URLs as Go's `net/url` has them.
//! * `headers`, `host`: their checks and their format.
//! * `request`: the request of a probe.
//! * `prepared`: its bytes.
//! * `redirect`: redirects.
//! * `buffer`, `fields`: lines and headers of a response, in the portions in which Go reads them.
//! * `response`, `body`: a response, as Go's client reads it.
//! * `verdict`: its meaning.

mod body;
mod buffer;
mod fields;
mod headers;
mod host;
mod prepared;
mod redirect;
mod request;
mod response;
mod url;
mod verdict;

pub use buffer::End;
pub use headers::{grpc_user_agent, user_agent};
pub use prepared::{H2Request, Prepared};
pub use redirect::Follow;
pub use request::{BuildError, HttpProbeRequest, build_request};
pub use response::{Head, Progress, ResponseError, ResponseReader, slurped_bytes};
pub use url::{AddressError, ParseUrlError, UrlProblem};
pub use verdict::{body_failed, verdict};
