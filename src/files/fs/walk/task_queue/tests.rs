use super::*;

/// Tasks `next..end`, each identified by its number.
struct Range {
    next: u32,
    end: u32,
}

impl Source for Range {
    type Task = u32;

    fn cut(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn is_empty(&self) -> bool {
        self.next == self.end
    }

    fn close(&mut self) -> bool {
        false
    }
}

fn result(value: u32) -> TaskOutcome<Range, u32> {
    TaskOutcome {
        result: Some((value, 1)),
        more: None,
        close_one: false,
    }
}

fn line<F: FnMut(u32) -> ControlFlow<()>>(
    most_waiting: usize,
    settle: F,
) -> TaskQueue<Range, u32, F> {
    TaskQueue::new(Range { next: 0, end: 4 }, most_waiting, settle)
}

#[test]
fn results_leave_in_order() {
    let settled = Mutex::new(Vec::new());
    let line = line(usize::MAX, |value| {
        settled.lock().unwrap().push(value);
        ControlFlow::Continue(())
    });
    let seen = || settled.lock().unwrap().clone();
    let [a, b, c] = [(); 3].map(|()| line.take().unwrap());
    assert_eq!([a.task, b.task, c.task], [0, 1, 2]);
    assert!(line.give(c.turn, result(2)));
    assert!(line.give(b.turn, result(1)));
    assert_eq!(seen(), Vec::<u32>::new());
    // The first task brings more work, which stands between its result and the others.
    let more = TaskOutcome {
        more: Some(Range { next: 10, end: 12 }),
        ..result(0)
    };
    assert!(line.give(a.turn, more));
    assert_eq!(seen(), [0]);
    let tasks = [(); 3].map(|()| line.take().unwrap());
    assert_eq!(tasks.each_ref().map(|taken| taken.task), [10, 11, 3]);
    let [ten, eleven, three] = tasks;
    assert!(!line.give(three.turn, result(3)));
    assert!(!line.give(ten.turn, result(10)));
    assert_eq!(seen(), [0, 10]);
    assert!(
        line.exchange(
            eleven.turn,
            TaskOutcome {
                result: None,
                more: None,
                close_one: false
            }
        )
        .is_none()
    );
    assert_eq!(seen(), [0, 10, 1, 2, 3]);
    assert!(!line.is_stopped());
}

#[test]
fn settle_can_stop_line() {
    let line = line(usize::MAX, |value| {
        if value == 1 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let [a, b] = [(); 2].map(|()| line.take().unwrap());
    line.give(b.turn, result(1));
    assert!(!line.is_stopped());
    line.give(a.turn, result(0));
    assert!(line.is_stopped() && line.take().is_none());
}

#[test]
fn take_waits_on_too_many_results() {
    let settled = Mutex::new(Vec::new());
    let line = line(1, |value| {
        settled.lock().unwrap().push(value);
        ControlFlow::Continue(())
    });
    let [a, b, c] = [(); 3].map(|()| line.take().unwrap());
    line.give(b.turn, result(1));
    line.give(c.turn, result(2));
    // Two results wait, but one is the limit: the next task is available only after the first
    // result.
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            line.take()
                .map(|taken| (taken.task, settled.lock().unwrap().clone(), taken.turn))
        });
        line.give(a.turn, result(0));
        let (task, seen, turn) = waiter.join().unwrap().unwrap();
        assert_eq!((task, seen), (3, vec![0, 1, 2]));
        line.give(turn, result(3));
    });
    assert!(line.take().is_none());
}

#[test]
fn dropped_turn_stops_line() {
    let line = line(usize::MAX, |_| ControlFlow::Continue(()));
    drop(line.take());
    assert!(line.is_stopped() && line.take().is_none());
}
