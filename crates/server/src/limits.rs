//! How often, how much and how long: rates by caller, and what each class of routes may take.

use crate::accounts::Caller;
use crate::errors::Refusal;
use crate::faces;
use crate::problems::PACKAGE_LIMIT;
use crate::service::Service;
use axum::http::Method;
use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many at once, then so many per minute: a token bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// At once, after a pause.
    pub burst: u32,
    /// In the long run; never 0.
    pub per_minute: u32,
}

/// What one caller may ask of the service. Jury, admins, and whoever is at the machine in anonymous mode are bounded by [`Limits::queued_trusted`] alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Requests of one user. An address that nobody is signed in from has ten times as many, since a whole school may be behind it.
    pub requests: Rate,
    /// Submissions and executions of one user.
    pub submissions: Rate,
    /// Sign-ins that failed, of one name from one address.
    pub failed_sign_ins: Rate,
    /// Sign-ins that failed, of one name from everywhere, and of all names from one address.
    pub failed_sign_ins_in_all: Rate,
    /// Submissions of one participant that wait to be judged.
    pub queued: u32,
    /// The same of one jury member or admin, and of all who are not signed in together.
    pub queued_trusted: u32,
    /// Open connections in all.
    pub connections: usize,
    /// Open connections from one address that is neither this machine nor a known proxy.
    pub connections_of_address: usize,
}

impl Limits {
    /// For a contest of some hundreds of participants on one machine.
    pub const USUAL: Limits = Limits {
        requests: Rate { burst: 600, per_minute: 1800 },
        submissions: Rate { burst: 30, per_minute: 20 },
        failed_sign_ins: Rate { burst: 5, per_minute: 2 },
        failed_sign_ins_in_all: Rate { burst: 50, per_minute: 20 },
        queued: 50,
        queued_trusted: 50_000,
        connections: 4096,
        connections_of_address: 512,
    };
}

/// Of how many callers a rate is kept. Beyond that those that used least are forgotten, which lets them begin again.
const KNOWN: usize = 50_000;

/// What is left to each of many by one rate. The time is an argument, in seconds since any fixed moment.
#[derive(Debug)]
struct Buckets<K> {
    rate: Rate,
    /// What was left, and when.
    left: HashMap<K, (f64, f64)>,
}

impl<K: Hash + Eq> Buckets<K> {
    fn new(rate: Rate) -> Buckets<K> {
        Buckets { rate, left: HashMap::new() }
    }

    fn per_second(&self) -> f64 {
        f64::from(self.rate.per_minute.max(1)) / 60.0
    }

    fn now_left(&self, (left, at): (f64, f64), now: f64) -> f64 {
        (left + (now - at).max(0.0) * self.per_second()).min(f64::from(self.rate.burst))
    }

    /// Takes one, or says after how many seconds there is one.
    fn take(&mut self, key: K, now: f64) -> Result<(), u64> {
        let full = f64::from(self.rate.burst);
        let left = self.left.get(&key).map_or(full, |&then| self.now_left(then, now));
        if left < 1.0 {
            return Err(((1.0 - left) / self.per_second()).ceil().max(1.0) as u64);
        }
        if self.left.len() >= KNOWN && !self.left.contains_key(&key) {
            self.make_room(now);
        }
        self.left.insert(key, (left - 1.0, now));
        Ok(())
    }

    /// Puts one back that came to nothing.
    fn put_back(&mut self, key: &K) {
        let burst = f64::from(self.rate.burst);
        if let Some((left, _)) = self.left.get_mut(key) {
            *left = (*left + 1.0).min(burst);
        }
    }

    /// Forgets those who have all of it again; where that is not enough, the half that has most.
    fn make_room(&mut self, now: f64) {
        let mut least = f64::from(self.rate.burst);
        while self.left.len() >= KNOWN && least > 0.5 {
            let kept: HashMap<K, (f64, f64)> = std::mem::take(&mut self.left)
                .into_iter()
                .map(|(key, then)| (key, (self.now_left(then, now), now)))
                .filter(|(_, (left, _))| *left < least)
                .collect();
            self.left = kept;
            least /= 2.0;
        }
        if self.left.len() >= KNOWN {
            self.left.clear();
        }
    }
}

/// How long a count of what waits is good for, in seconds.
const COUNTED_FOR_S: f64 = 1.0;

/// How many more each may submit before what waits is counted again, and when it was counted: counting a full queue for each submission would
/// take longer than keeping the submission.
#[derive(Debug, Default)]
struct Room(HashMap<Option<store::UserId>, (u64, f64)>);

impl Room {
    /// Takes a place, where one is known to be free.
    fn take(&mut self, who: Option<store::UserId>, now: f64) -> bool {
        match self.0.get_mut(&who) {
            Some((left @ 1.., at)) if (0.0..COUNTED_FOR_S).contains(&(now - *at)) => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }

    /// Of `most` so many waited just now. Half of the rest is given out: others may count at the same time.
    fn counted(&mut self, who: Option<store::UserId>, waiting: u64, most: u64, now: f64) {
        if self.0.len() >= KNOWN {
            self.0.clear();
        }
        self.0.insert(who, (most.saturating_sub(waiting) / 2, now));
    }
}

/// When to try again where the queue is full, in seconds.
const QUEUE_WAIT_S: u64 = 10;

/// Whose bucket it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Who {
    User(store::UserId),
    Address(Option<IpAddr>),
    Name(String),
    NameFrom(String, Option<IpAddr>),
}

/// The rates of a service, as they stand.
#[derive(Debug)]
pub(crate) struct Rates {
    begun: Instant,
    requests: Mutex<Buckets<Who>>,
    requests_of_addresses: Mutex<Buckets<Who>>,
    submissions: Mutex<Buckets<Who>>,
    failed: Mutex<Buckets<Who>>,
    failed_in_all: Mutex<Buckets<Who>>,
    room: Mutex<Room>,
}

impl Rates {
    pub(crate) fn new(limits: &Limits) -> Rates {
        let buckets = |rate| Mutex::new(Buckets::new(rate));
        let Rate { burst, per_minute } = limits.requests;
        Rates {
            begun: Instant::now(),
            requests: buckets(limits.requests),
            requests_of_addresses: buckets(Rate {
                burst: burst.saturating_mul(10),
                per_minute: per_minute.saturating_mul(10),
            }),
            submissions: buckets(limits.submissions),
            failed: buckets(limits.failed_sign_ins),
            failed_in_all: buckets(limits.failed_sign_ins_in_all),
            room: Mutex::default(),
        }
    }

    /// Refuses a submission of one of whom too many wait already.
    ///
    /// # Errors
    /// [`Refusal::TooMany`].
    pub(crate) async fn queue(service: &Service, caller: &Caller) -> Result<(), Refusal> {
        let limits = &service.settings.access.limits;
        let most = u64::from(if caller.is_trusted() { limits.queued_trusted } else { limits.queued });
        let rates = &service.accounts.rates;
        let (who, now) = (caller.id(), rates.begun.elapsed().as_secs_f64());
        let room = || rates.room.lock().unwrap_or_else(PoisonError::into_inner);
        if room().take(who, now) {
            return Ok(());
        }
        let waiting = service.store.waiting_of(who, u32::try_from(most).unwrap_or(u32::MAX)).await?;
        room().counted(who, waiting, most, now);
        if waiting < most { Ok(()) } else { Err(Refusal::TooMany(QUEUE_WAIT_S)) }
    }

    fn take(&self, buckets: &Mutex<Buckets<Who>>, who: Who) -> Result<(), Refusal> {
        let now = self.begun.elapsed().as_secs_f64();
        let mut buckets = buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.take(who, now).map_err(Refusal::TooMany)
    }

    /// Counts a request of this class.
    ///
    /// # Errors
    /// [`Refusal::TooMany`].
    pub(crate) fn request(&self, caller: &Caller, class: Class) -> Result<(), Refusal> {
        if caller.is_trusted() || class == Class::Asset {
            return Ok(());
        }
        match caller.id() {
            Some(id) => self.take(&self.requests, Who::User(id))?,
            None => self.take(&self.requests_of_addresses, Who::Address(caller.address))?,
        }
        match (class, caller.id()) {
            (Class::Submission | Class::Execution, Some(id)) => self.take(&self.submissions, Who::User(id)),
            _ => Ok(()),
        }
    }

    /// Counts a sign-in as failed until [`Rates::sign_in_good`] says otherwise, so that many at once are not more than many in turn.
    ///
    /// # Errors
    /// [`Refusal::TooMany`].
    pub(crate) fn sign_in(&self, name: &str, address: Option<IpAddr>) -> Result<(), Refusal> {
        self.take(&self.failed, Who::NameFrom(name.into(), address))?;
        self.take(&self.failed_in_all, Who::Address(address))?;
        self.take(&self.failed_in_all, Who::Name(name.into()))
    }

    /// The sign-in that was counted did not fail.
    pub(crate) fn sign_in_good(&self, name: &str, address: Option<IpAddr>) {
        let back = |buckets: &Mutex<Buckets<Who>>, who: Who| {
            buckets.lock().unwrap_or_else(PoisonError::into_inner).put_back(&who);
        };
        back(&self.failed, Who::NameFrom(name.into(), address));
        back(&self.failed_in_all, Who::Address(address));
        back(&self.failed_in_all, Who::Name(name.into()));
    }
}

/// Kinds of routes, by what a request to them may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// A file of the pages.
    Asset,
    /// Looking.
    Read,
    /// A small change.
    Write,
    /// Submitting.
    Submission,
    /// Submitting and waiting for what comes of it.
    Execution,
    /// A package.
    Upload,
}

/// Routes that are not [`Class::Read`] for GET and HEAD, [`Class::Write`] for the rest: method, route as the router knows it, class. Those of other
/// judges' faces are known to [`faces::executing`].
pub(crate) const CLASSES: &[(Method, &str, Class)] = &[
    (Method::GET, "/assets/{hash}/{name}", Class::Asset),
    (Method::POST, "/api/v1/submissions", Class::Submission),
    (Method::POST, "/api/v1/problems", Class::Upload),
    (Method::POST, "/problems/{name}/submit", Class::Submission),
    (Method::POST, "/problems/{name}/run", Class::Submission),
    (Method::POST, "/problems/new", Class::Upload),
];

/// Bytes of a form around a package.
const FORM: usize = 64 << 10;

impl Class {
    /// The class of a route.
    pub(crate) fn for_route(method: &Method, route: &str) -> Class {
        let named = CLASSES.iter().find(|(m, r, _)| m == method && *r == route);
        match named {
            Some((_, _, class)) => *class,
            None if *method == Method::POST && faces::executing().any(|known| known == route) => {
                Class::Execution
            }
            None if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) => Class::Read,
            None => Class::Write,
        }
    }

    /// The largest body in bytes.
    pub(crate) const fn body(self) -> usize {
        match self {
            Class::Asset | Class::Read => 64 << 10,
            Class::Write => 1 << 20,
            Class::Submission => 8 << 20,
            Class::Execution => 32 << 20,
            Class::Upload => PACKAGE_LIMIT + FORM,
        }
    }

    /// How long a request may take until its answer begins, its body included.
    pub(crate) const fn time(self) -> Duration {
        Duration::from_secs(match self {
            Class::Asset | Class::Read | Class::Submission => 30,
            Class::Write => 120,
            Class::Execution | Class::Upload => 600,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let mut buckets = Buckets::new(Rate { burst: 3, per_minute: 6 });
        let mut check = |at: f64, expected: Result<(), u64>| {
            assert_eq!(buckets.take("ann", at), expected, "at {at}");
        };
        check(0.0, Ok(()));
        check(0.0, Ok(()));
        check(0.0, Ok(()));
        check(0.0, Err(10));
        check(4.5, Err(6));
        check(10.0, Ok(()));
        check(10.0, Err(10));
        // A pause saves up no more than the burst; a clock that goes back takes nothing.
        check(1000.0, Ok(()));
        check(1000.0, Ok(()));
        check(900.0, Ok(()));
        check(900.0, Err(10));
        assert_eq!(buckets.take("bob", 900.0), Ok(()));
        buckets.put_back(&"ann");
        assert_eq!(buckets.take("ann", 900.0), Ok(()));
    }

    #[test]
    fn a_count_is_good_for_half_of_what_was_free_and_not_for_long() {
        let (mut room, ann) = (Room::default(), Some(store::UserId(1)));
        assert!(!room.take(ann, 0.0), "never counted");
        room.counted(ann, 45, 50, 0.0);
        assert!(room.take(ann, 0.1) && room.take(ann, 0.2));
        assert!(!room.take(ann, 0.3), "half is gone");
        assert!(!room.take(None, 0.3), "another's");
        room.counted(ann, 0, 50, 1.0);
        assert!(room.take(ann, 1.9) && !room.take(ann, 2.0), "too old");
        room.counted(ann, 60, 50, 3.0);
        assert!(!room.take(ann, 3.0), "full");
    }

    proptest! {
        #[test]
        fn never_more_than_burst_and_rate(burst in 1u32..20, per_minute in 1u32..600, gaps in prop::collection::vec(0.0f64..5.0, 1..200)) {
            let mut buckets = Buckets::new(Rate { burst, per_minute });
            let (mut now, mut taken) = (0.0, 0u32);
            for gap in gaps {
                now += gap;
                if let Err(wait) = buckets.take((), now) {
                    // Whoever waits as long as was said is served.
                    now += wait as f64;
                    prop_assert_eq!(buckets.take((), now), Ok(()));
                }
                taken += 1;
                let most = f64::from(burst) + now * f64::from(per_minute) / 60.0;
                prop_assert!(f64::from(taken) <= most + 1e-6, "{taken} of {most}");
            }
        }
    }

    #[test]
    fn the_memory_for_callers_is_bounded() {
        let mut buckets = Buckets::new(Rate { burst: 2, per_minute: 1 });
        for n in 0..3 {
            assert!(buckets.take(n, 0.0).is_ok());
            assert!(buckets.take(n, 0.0).is_ok());
        }
        for n in 3..KNOWN + 10 {
            assert!(buckets.take(n, 0.0).is_ok());
        }
        assert!(buckets.left.len() <= KNOWN);
        // Who had least left is remembered longest.
        assert!(buckets.take(1, 0.0).is_err());
    }

    #[test]
    fn packages_have_one_limit_wherever_it_is_told() {
        let told = format!("{} MiB", PACKAGE_LIMIT >> 20);
        let pages = [
            include_str!("../../../docs/accounts.md"),
            include_str!("../../../docs/api.md"),
            &crate::api::openapi(),
        ];
        for (page, phrase) in
            pages.into_iter().zip(["packages ", "zip archives of at most ", "zip archive of at most "])
        {
            assert!(page.contains(&format!("{phrase}{told}")), "{phrase}{told}");
        }
        assert!((PACKAGE_LIMIT..PACKAGE_LIMIT + (1 << 20)).contains(&Class::Upload.body()));
    }

    #[test]
    fn routes_have_classes() {
        let check =
            |method, route, class| assert_eq!(Class::for_route(&method, route), class, "{method} {route}");
        check(Method::GET, "/problems/{name}", Class::Read);
        check(Method::POST, "/problems/{name}/submit", Class::Submission);
        check(Method::DELETE, "/api/v1/tokens/{id}", Class::Write);
    }
}
