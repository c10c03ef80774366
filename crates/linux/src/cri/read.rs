//! Queries a runtime for all needed facts, within one time limit; the statuses of many containers are requested
//! concurrently over one connection.

use super::connect::{connect_checked, image_client, runtime_client, socket_path};
use super::info::{NamedProgram, RuntimeInfo};
use super::reason::{chain, status_reason};
use super::{CriError, RuntimeNeeds, convert, info, storage, v1};
use kq_facts::cgroup_mode::CgroupDriver;
use kq_facts::lookup::{FailedSource, Lookup, Sourced};
use kq_facts::runtime::{ContainerStatus, DriverBy, ImageStorage, LowLevelRuntime, RuntimeFacts};
use kq_io::trust::NamedBy;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, timeout_at};
use tonic::transport::Channel;
use tonic::{Response, Status};

/// Any deadline beyond it means the same, and can be added to a time.
const LONGEST: Duration = Duration::from_secs(3600);

/// The result of a call.
pub(crate) type Answer<T> = Result<T, String>;

/// Queries a container runtime for facts.
///
/// The endpoint is `unix:///PATH` or `/PATH`, beneath the node's root. One that the operator did not name must be
/// trusted; only a runtime with a trusted listener names the program that creates containers. The deadline covers
/// everything: a call without an answer by then is a failed fact, like any other failed call.
/// Unneeded facts are not queried. It blocks, on an asynchronous runtime of its own: it must not be called
/// from asynchronous code.
/// Fails when the connection fails, or `Version` is not answered.
pub fn read_runtime(
    endpoint: &str,
    host_root: &Path,
    named_by: NamedBy,
    needs: RuntimeNeeds,
    deadline: Duration,
) -> Result<RuntimeFacts, CriError> {
    let socket = socket_path(endpoint)?;
    let runtime =
        Builder::new_current_thread().enable_io().enable_time().build().map_err(|error| {
            CriError::Connect { endpoint: endpoint.to_owned(), reason: chain(&error) }
        })?;
    let (mut facts, info, distrust) = runtime.block_on(async {
        let time = Time::within(deadline);
        let connection = time.limit(connect_checked(endpoint, host_root, named_by)).await;
        let connection = connection.unwrap_or_else(|reason| {
            Err(CriError::Connect { endpoint: endpoint.to_owned(), reason })
        })?;
        let distrust = connection.distrust();
        let (facts, info) = ask(endpoint, connection.channel, needs, time).await?;
        Ok((facts, info, distrust))
    })?;
    drop(runtime);
    if let Some(info) = &info
        && needs.sandbox_image
    {
        let source = format!("{endpoint} Status(verbose)");
        facts.sandbox_image =
            match info.as_ref().map_err(Clone::clone).and_then(RuntimeInfo::sandbox_image) {
                Ok(name) => Lookup::found(source, name),
                Err(reason) => Lookup::failed(source, reason),
            };
    }
    if let Some(info) = info.filter(|_| needs.low_level) {
        facts.restricts_oom_score = info.as_ref().ok().map(RuntimeInfo::restricts_oom_score);
        facts.disables_hugetlb = info.as_ref().ok().and_then(RuntimeInfo::disables_hugetlb);
        facts.kata_handlers = info.as_ref().map(RuntimeInfo::kata_handlers).unwrap_or_default();
        facts.annotated_cpus = info.as_ref().map(RuntimeInfo::annotated_cpus).unwrap_or_default();
        facts.low_level = match distrust {
            None => {
                let default = low_level_of(&info, endpoint, &socket, host_root);
                facts.handlers = handlers_of(&info, &facts, &default, &socket, host_root);
                default
            }
            // It would decide which program's version is the node's.
            Some(reason) => Lookup::failed(format!("{endpoint} Status(verbose)"), reason),
        };
    }
    Ok(facts)
}

/// When everything must be over.
#[derive(Clone, Copy)]
pub(crate) struct Time {
    end: Instant,
    /// The endpoint, for messages.
    deadline: Duration,
}

impl Time {
    /// Returns a deadline that begins now.
    pub(crate) fn within(deadline: Duration) -> Self {
        Self { end: Instant::now() + deadline.min(LONGEST), deadline }
    }

    /// Waits for something, but not beyond the end.
    pub(crate) async fn limit<T>(self, task: impl Future<Output = T>) -> Answer<T> {
        timeout_at(self.end, task)
            .await
            .map_err(|_| format!("no answer within {:?}", self.deadline))
    }

    /// Waits for the answer to a call.
    pub(crate) async fn call<T>(
        self,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Answer<T> {
        match self.limit(call).await? {
            Ok(response) => Ok(response.into_inner()),
            Err(status) => Err(status_reason(&status)),
        }
    }
}

/// Queries the facts that the runtime itself reports. The second value is its
/// configuration, if the low-level runtime is needed.
async fn ask(
    endpoint: &str,
    channel: Channel,
    needs: RuntimeNeeds,
    time: Time,
) -> Result<(RuntimeFacts, Option<Answer<RuntimeInfo>>), CriError> {
    let (mut runtime, mut images) = (runtime_client(&channel), image_client(&channel));
    let version = time
        .call(runtime.version(v1::VersionRequest::default()))
        .await
        .map_err(|reason| CriError::Version { endpoint: endpoint.to_owned(), reason })?;

    // Each call is a task, so that they share the connection concurrently. Remaining tasks
    // end with the asynchronous runtime.
    let mut client = runtime.clone();
    let sandboxes = start(needs.sandboxes, async move {
        time.call(client.list_pod_sandbox(v1::ListPodSandboxRequest {})).await
    });
    let containers = start(needs.containers, async move {
        time.call(runtime.list_containers(v1::ListContainersRequest {})).await
    });
    let mut client = images.clone();
    let image_list = start(needs.images, async move {
        time.call(client.list_images(v1::ListImagesRequest {})).await
    });
    let filesystems = start(needs.image_filesystems, async move {
        time.call(images.image_fs_info(v1::ImageFsInfoRequest {})).await
    });
    let mut client = runtime_client(&channel);
    let layers = start(needs.writable_layers, async move {
        time.call(client.list_container_stats(v1::ListContainerStatsRequest {})).await
    });
    let status = start(needs.low_level || needs.sandbox_image, status(channel.clone(), time));
    let driver = start(needs.cgroup_driver, driver(channel.clone(), endpoint.to_owned(), time));

    let named = |method: &str| format!("{endpoint} {method}");
    let mut facts = RuntimeFacts {
        endpoint: endpoint.to_owned(),
        version: convert::version(version),
        sandboxes: sought(named("ListPodSandbox"), finish(sandboxes).await, |said| {
            convert::sandboxes(said).into()
        }),
        images: sought(named("ListImages"), finish(image_list).await, |said| {
            convert::images(said).into()
        }),
        image_filesystems: sought(
            named("ImageFsInfo"),
            finish(filesystems).await,
            convert::image_filesystems,
        ),
        ..RuntimeFacts::default()
    };
    let known = facts.sandboxes.value().map(AsRef::as_ref);
    facts.containers = sought(named("ListContainers"), finish(containers).await, |said| {
        convert::containers(said, known).into()
    });
    facts.container_statuses = statuses(&channel, &facts, needs, time).await;
    facts.image_storage = image_storage(&channel, &facts, needs, time).await;
    let layers = finish(layers).await;
    facts.writable_layers = sought(named("ListContainerStats"), layers, convert::writable_layers);
    if let Some(driver) = driver {
        let driver = driver.await.unwrap_or_else(|error| {
            (Lookup::failed(named("RuntimeConfig"), broken_off(&error)), None)
        });
        (facts.cgroup_driver, facts.driver_by) = driver;
    }
    Ok((facts, finish(status).await))
}

/// Queries the layers that the listed images share.
async fn image_storage(
    channel: &Channel,
    facts: &RuntimeFacts,
    needs: RuntimeNeeds,
    time: Time,
) -> Lookup<ImageStorage> {
    let Some(images) = facts.images.value().filter(|_| needs.image_storage) else {
        return Lookup::default();
    };
    let asked = storage::image_storage(channel, &facts.endpoint, &facts.version, images);
    let source = || format!("{} containerd.services", facts.endpoint);
    time.limit(asked).await.unwrap_or_else(|reason| Lookup::failed(source(), reason))
}

/// Requests the needed statuses of the listed containers.
async fn statuses(
    channel: &Channel,
    facts: &RuntimeFacts,
    needs: RuntimeNeeds,
    time: Time,
) -> Lookup<Vec<ContainerStatus>> {
    let wanted = needs.container_statuses;
    if !needs.containers || !wanted.applies_to(&facts.version) {
        return Lookup::default();
    }
    let source = format!("{} ContainerStatus", facts.endpoint);
    let Some(containers) = facts.containers.value() else {
        return Lookup::failed(source, "the containers are not known");
    };
    let asked = containers.iter().filter(|container| wanted.includes(container.state));
    let ids = asked.map(|container| container.id.clone()).collect();
    Lookup::found(source, container_statuses(channel, ids, time).await)
}

/// Requests the runtime's configuration.
async fn status(channel: Channel, time: Time) -> Answer<RuntimeInfo> {
    let mut client = runtime_client(&channel);
    let status = time.call(client.status(v1::StatusRequest { verbose: true })).await?;
    RuntimeInfo::read(&status.info)
}

/// Returns the cgroup driver: from `RuntimeConfig`, which containerd has since 2.0, else from the runtime's
/// configuration; and which of them has it.
async fn driver(
    channel: Channel,
    endpoint: String,
    time: Time,
) -> (Lookup<CgroupDriver>, Option<DriverBy>) {
    let mut client = runtime_client(&channel);
    let source = format!("{endpoint} RuntimeConfig");
    let answer = time.call(client.runtime_config(v1::RuntimeConfigRequest {})).await;
    let reason = match answer.and_then(convert::cgroup_driver) {
        Ok(driver) => return (Lookup::found(source, driver), Some(DriverBy::RuntimeConfig)),
        Err(reason) => reason,
    };
    let mut sought = Lookup::failed(source, reason);
    let source = format!("{endpoint} Status(verbose)");
    match status(channel, time).await.and_then(|info| info.cgroup_driver()) {
        Ok((value, field)) => {
            sought.found = Some(Sourced { source: format!("{source} {field}"), value });
        }
        Err(reason) => sought.tried.push(FailedSource { source, reason }),
    }
    let by = sought.found.as_ref().map(|_| DriverBy::Configuration);
    (sought, by)
}

/// Returns the low-level runtime: its program from the configuration, its version from the program's file.
fn low_level_of(
    info: &Answer<RuntimeInfo>,
    endpoint: &str,
    socket: &Path,
    host_root: &Path,
) -> Lookup<LowLevelRuntime> {
    let source = format!("{endpoint} Status(verbose)");
    let named = match info.as_ref().map_err(Clone::clone).and_then(RuntimeInfo::program) {
        Ok(named) => named,
        Err(reason) => return Lookup::failed(source, reason),
    };
    match info::version(&named, socket, host_root) {
        Ok(found) => Lookup::found(found.path.clone(), found),
        Err(reason) => Lookup::failed(source, reason),
    }
}

/// How many runtimes of RuntimeClasses are looked at.
const MOST_HANDLERS: usize = 8;

/// Returns the low-level runtimes that pods with a RuntimeClass have.
fn handlers_of(
    info: &Answer<RuntimeInfo>,
    facts: &RuntimeFacts,
    default: &Lookup<LowLevelRuntime>,
    socket: &Path,
    host_root: &Path,
) -> BTreeMap<String, Lookup<LowLevelRuntime>> {
    let Ok(info) = info else { return BTreeMap::new() };
    let program = info.program().ok().map(|named| named.program);
    let sandboxes = facts.sandboxes.value().into_iter().flatten();
    let used: BTreeSet<&str> = sandboxes.map(|sandbox| sandbox.runtime_handler.as_str()).collect();
    let named = info.programs().into_iter();
    let named = named.filter(|named| used.contains(named.runtime.as_str())).take(MOST_HANDLERS);
    let found = |named: NamedProgram| {
        if program.as_ref() == Some(&named.program) {
            return (named.runtime, default.clone());
        }
        let found = match info::version(&named, socket, host_root) {
            Ok(found) => Lookup::found(found.path.clone(), found),
            Err(reason) => Lookup::failed(format!("{} Status(verbose)", facts.endpoint), reason),
        };
        (named.runtime, found)
    };
    named.map(found).collect()
}

fn start<T: Send + 'static>(
    wanted: bool,
    task: impl Future<Output = T> + Send + 'static,
) -> Option<JoinHandle<T>> {
    wanted.then(|| tokio::spawn(task))
}

/// Waits for a started call; `None`: it was not needed.
async fn finish<T>(task: Option<JoinHandle<Answer<T>>>) -> Option<Answer<T>> {
    let done = task?.await;
    Some(done.unwrap_or_else(|error| Err(broken_off(&error))))
}

pub(super) fn broken_off(error: &JoinError) -> String {
    format!("the call broke off: {error}")
}

fn sought<T, F>(
    source: String,
    answer: Option<Answer<T>>,
    convert: impl FnOnce(T) -> F,
) -> Lookup<F> {
    match answer {
        None => Lookup::default(),
        Some(Ok(value)) => Lookup::found(source, convert(value)),
        Some(Err(reason)) => Lookup::failed(source, reason),
    }
}

/// The number of concurrent calls: enough to keep a runtime busy, and within the
/// usual limit of HTTP/2 servers for one connection (100).
const AT_A_TIME: usize = 64;

/// Requests the status of each container, in the order of the IDs. A failure is the status of its own
/// container, as the kubelet sees it.
pub(super) async fn container_statuses(
    channel: &Channel,
    ids: Vec<String>,
    time: Time,
) -> Vec<ContainerStatus> {
    let ids = Arc::new(ids);
    let next = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..AT_A_TIME.min(ids.len()))
        .map(|_| {
            let (ids, next, mut client) = (ids.clone(), next.clone(), runtime_client(channel));
            tokio::spawn(async move {
                let mut answers = Vec::new();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(id) = ids.get(index) else { return answers };
                    let request =
                        v1::ContainerStatusRequest { container_id: id.clone(), verbose: false };
                    let answer = time.call(client.container_status(request)).await;
                    answers.push((index, convert::container_status(id.clone(), answer)));
                }
            })
        })
        .collect();
    let mut statuses: Vec<Option<ContainerStatus>> = vec![None; ids.len()];
    let mut broken: Answer<()> = Ok(());
    for worker in workers {
        match worker.await {
            Ok(answers) => {
                for (index, status) in answers {
                    if let Some(place) = statuses.get_mut(index) {
                        *place = Some(status);
                    }
                }
            }
            Err(error) => broken = Err(broken_off(&error)),
        }
    }
    let reason = || broken.clone().err().unwrap_or_else(|| "the call broke off".to_owned());
    let of = |(id, status): (&String, Option<ContainerStatus>)| {
        status.unwrap_or_else(|| convert::container_status(id.clone(), Err(reason())))
    };
    ids.iter().zip(statuses).map(of).collect()
}
