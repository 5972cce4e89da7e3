//! The tenants of a server. Some come and go while it runs.

use std::sync::{Arc, PoisonError, RwLock};

use super::tenant::Tenant;

/// All tenants, in the order in which they came.
pub struct Roster(RwLock<Arc<[Arc<Tenant>]>>);

impl Roster {
    /// Those that there are at the start.
    pub fn new(tenants: Vec<Arc<Tenant>>) -> Arc<Self> {
        Arc::new(Self(RwLock::new(tenants.into())))
    }

    /// Those that there are now.
    pub fn all(&self) -> Arc<[Arc<Tenant>]> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds one.
    pub fn add(&self, tenant: Arc<Tenant>) {
        self.change(|all| all.push(tenant));
    }

    /// Forgets one. Nobody may be served as it any more.
    pub fn remove(&self, tenant: &Arc<Tenant>) {
        self.change(|all| all.retain(|other| !Arc::ptr_eq(other, tenant)));
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Tenant>>)) {
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut all = held.to_vec();
        change(&mut all);
        *held = all.into();
    }
}
