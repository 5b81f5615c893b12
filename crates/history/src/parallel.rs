//! Work on a list by several threads.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// More threads would wait for the disk.
pub(crate) const MAX_THREADS: usize = 8;

/// Applies `work` to the items in several threads, and passes each result to `each` with the place of its item, in the order in
/// which they are ready. A thread ends where `work` returns `None`. `S` is what a thread keeps from one item to the next. A few
/// results are in memory at a time.
///
/// # Errors
/// No thread can be started, or `each` fails.
pub fn for_each<I: Sync, S: Default, T: Send, E: From<io::Error>>(
    items: &[I],
    max_threads: usize,
    work: impl Fn(&I, &mut S) -> Option<T> + Sync,
    mut each: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(max_threads).min(items.len());
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (sender, received) = mpsc::sync_channel(threads);
        for number in 0..threads {
            let (sender, work, next) = (sender.clone(), &work, &next);
            let started = thread::Builder::new().spawn_scoped(scope, move || {
                let mut state = S::default();
                let mut next_result = || {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    Some((place, work(items.get(place)?, &mut state)?))
                };
                // Without a receiver, the rest is not needed.
                while let Some(result) = next_result()
                    && sender.send(result).is_ok()
                {}
            });
            // One is enough. A container can limit the number of threads.
            if number == 0 {
                let what = |error: io::Error| {
                    io::Error::new(error.kind(), format!("cannot start a thread: {error}"))
                };
                started.map_err(what)?;
            }
        }
        drop(sender);
        received.into_iter().try_for_each(|(place, result)| each(place, result))
    })
}

/// Like [`for_each`], with the results in the order of the items, and each with the place of its item.
pub(crate) fn for_each_in_order<I: Sync, S: Default, T: Send>(
    items: &[I],
    max_threads: usize,
    work: impl Fn(&I, &mut S) -> T + Sync,
    mut each: impl FnMut(usize, T),
) -> io::Result<()> {
    let mut ready = InOrder::default();
    for_each(
        items,
        max_threads,
        |item, state| Some(work(item, state)),
        |place, result| {
            ready.insert(place, result);
            while let Some(result) = ready.take_due() {
                each(ready.due - 1, result);
            }
            Ok(())
        },
    )
}

/// Results in the order of their items.
#[derive(Debug)]
pub(crate) struct InOrder<T> {
    early: BTreeMap<usize, T>,
    /// The place of the next one.
    pub due: usize,
}

impl<T> Default for InOrder<T> {
    fn default() -> InOrder<T> {
        InOrder { early: BTreeMap::new(), due: 0 }
    }
}

impl<T> InOrder<T> {
    pub(crate) fn insert(&mut self, place: usize, result: T) {
        self.early.insert(place, result);
    }

    /// The next result, if it is ready.
    pub(crate) fn take_due(&mut self) -> Option<T> {
        let result = self.early.remove(&self.due)?;
        self.due += 1;
        Some(result)
    }

    /// The results behind one that is missing.
    pub(crate) fn into_rest(self) -> impl Iterator<Item = T> {
        self.early.into_values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_an_error_ends_the_work() {
        let items: Vec<usize> = (0..1_000).collect();
        let mut doubled = Vec::new();
        let work = |item: &usize, calls: &mut usize| {
            *calls += 1;
            (2 * item, *calls)
        };
        for_each_in_order(&items, 8, work, |place, (result, calls)| {
            assert!((1..=1_000).contains(&calls));
            assert_eq!(place, doubled.len());
            doubled.push(result);
        })
        .unwrap();
        assert_eq!(doubled, items.iter().map(|item| 2 * item).collect::<Vec<_>>());
        let failed = for_each(&items, 8, |_, (): &mut ()| Some(()), |_, ()| Err(io::Error::other("enough")));
        assert_eq!(failed.unwrap_err().to_string(), "enough");
    }

    #[test]
    fn a_thread_ends_without_a_result_and_what_is_behind_it_is_the_rest() {
        let mut ready = InOrder::default();
        let work = |item: &usize, (): &mut ()| (*item < 3).then_some(*item);
        let done: io::Result<()> = for_each(&[0, 1, 2, 3, 4], 1, work, |place, result| {
            ready.insert(place + 1, result);
            Ok(())
        });
        done.unwrap();
        assert_eq!((ready.take_due(), ready.into_rest().collect::<Vec<_>>()), (None, vec![0, 1, 2]));
        assert!(for_each::<(), (), (), io::Error>(&[], 8, |_, _| None, |_, ()| Ok(())).is_ok());
    }
}
