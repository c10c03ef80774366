//! The statuses of many containers: one call for each, some at a time over one connection.

use super::connect::runtime_client;
use super::read::{Answer, Time, broken_off};
use super::{convert, v1};
use crate::facts::runtime::ContainerStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tonic::transport::Channel;

/// How many calls are under way at the same time: enough to keep a runtime busy, and no more than
/// servers of HTTP/2 commonly allow on one connection (100).
const AT_A_TIME: usize = 64;

/// Asks for the status of each container, in the order of the ids. What fails is the status of its own
/// container, as the kubelet would have been told.
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
