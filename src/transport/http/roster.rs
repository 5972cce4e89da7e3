//! The tenants of a server. Some come and go while it runs.

use std::sync::{Arc, PoisonError, RwLock};

use super::tenant::Tenant;

/// All tenants, in the order in which they came, and who is to be one and cannot be served.
pub struct Roster {
    tenants: RwLock<Arc<[Arc<Tenant>]>>,
    /// SHA-256 of their tokens.
    unserved: RwLock<Vec<[u8; 32]>>,
}

impl Roster {
    /// Those that there are at the start.
    pub fn new(tenants: Vec<Arc<Tenant>>) -> Arc<Self> {
        Arc::new(Self {
            tenants: RwLock::new(tenants.into()),
            unserved: RwLock::default(),
        })
    }

    /// Those that there are now.
    pub fn all(&self) -> Arc<[Arc<Tenant>]> {
        Arc::clone(&self.tenants.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Those that this one may hear of.
    pub fn seen_by(&self, tenant: &Arc<Tenant>) -> Arc<[Arc<Tenant>]> {
        if tenant.is_operator() {
            self.all()
        } else {
            [Arc::clone(tenant)].into()
        }
    }

    pub fn add(&self, tenant: Arc<Tenant>) {
        self.change(|all| all.push(tenant));
    }

    /// Forgets one. Nobody may be served as it any more.
    pub fn remove(&self, tenant: &Arc<Tenant>) {
        self.change(|all| all.retain(|other| !Arc::ptr_eq(other, tenant)));
    }

    /// Says whose tokens, by their SHA-256, the operator has given out while nobody is served for
    /// them.
    pub fn set_unserved(&self, digests: Vec<[u8; 32]>) {
        *self
            .unserved
            .write()
            .unwrap_or_else(PoisonError::into_inner) = digests;
    }

    /// Whether a token with this SHA-256 is one of those.
    pub fn is_unserved(&self, digest: [u8; 32]) -> bool {
        self.unserved
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&digest)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Tenant>>)) {
        let mut held = self.tenants.write().unwrap_or_else(PoisonError::into_inner);
        let mut all = held.to_vec();
        change(&mut all);
        *held = all.into();
    }
}
