//! Frames as lines.

use super::worker::{Refreshed, Worker};
use crate::exit::{Code, Failure};
use crate::write;
use kq::edge::clock::pause;
use kq::top::{Body, Panel, Trends, plain_lines};

/// Writes frames until their number is reached or the source is over. Only a live node is waited for.
pub fn run(
    mut worker: Worker,
    panel: Panel,
    count: Option<u64>,
    is_live: bool,
) -> Result<Code, Failure> {
    let (mut trends, mut written, mut is_incomplete) = (Trends::default(), 0, false);
    while let Some(Refreshed { frame, next_in }) = worker.frame(panel, false)? {
        trends.add(&frame);
        if written > 0 {
            write::lines([String::new()])?;
        }
        write::lines(plain_lines(&frame, &trends))?;
        is_incomplete = matches!(frame.body, Body::Unavailable(_));
        written += 1;
        match next_in {
            Some(next_in) if count != Some(written) => {
                if is_live {
                    pause(next_in);
                }
            }
            _ => break,
        }
    }
    Ok(Code::Answered.unless(is_incomplete))
}
