//! HTTP probes: the request that the kubelet makes of a probe, and what its answer means.
//!
//! The rules are those of the kubelet's `pkg/probe/http` and of the parts of Go's library that it stands on,
//! read in Kubernetes 1.36.2 and Go 1.26; pinned by the vectors `probe_http.jsonl`.
//!
//! * `url`: URLs as Go's `net/url` has them.
//! * `headers`, `host`: what is checked of them, and how they are written.
//! * `request`: the request of a probe.
//! * `prepared`: its bytes.
//! * `redirect`: what follows an answer that points elsewhere.
//! * `buffer`, `fields`: lines and headers of an answer, in the portions in which Go reads them.
//! * `response`, `body`: an answer, as Go's client reads it.
//! * `verdict`: what it means.

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
pub use prepared::{H2Request, Prepared};
pub use redirect::Follow;
pub use request::{BuildError, HttpProbeRequest, build_request};
pub use response::{Head, Progress, ResponseError, ResponseReader, slurped_bytes};
pub use url::{AddressError, ParseUrlError, UrlProblem};
pub use verdict::{body_failed, verdict};
