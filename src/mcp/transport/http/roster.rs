//! List of the tenants of a server, which changes while it runs.

use std::sync::{Arc, PoisonError, RwLock};

use super::tenant::Tenant;

/// All tenants in the order of their arrival, and the tokens that cannot be served.
pub struct Roster {
    tenants: RwLock<Arc<[Arc<Tenant>]>>,
    /// SHA-256 digests of these tokens.
    unserved: RwLock<Vec<[u8; 32]>>,
}

impl Roster {
    /// Creates a roster of the initial tenants.
    pub fn new(tenants: Vec<Arc<Tenant>>) -> Arc<Self> {
        Arc::new(Self {
            tenants: RwLock::new(tenants.into()),
            unserved: RwLock::default(),
        })
    }

    /// Returns the current tenants.
    pub fn all(&self) -> Arc<[Arc<Tenant>]> {
        Arc::clone(&self.tenants.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the tenants whose data this tenant may see.
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

    /// Removes a tenant. No client is served as this tenant any more.
    pub fn remove(&self, tenant: &Arc<Tenant>) {
        self.change(|all| all.retain(|other| !Arc::ptr_eq(other, tenant)));
    }

    /// Sets the SHA-256 digests of valid tokens that have no tenant.
    pub fn set_unserved(&self, digests: Vec<[u8; 32]>) {
        *self
            .unserved
            .write()
            .unwrap_or_else(PoisonError::into_inner) = digests;
    }

    /// Returns true if a token with this SHA-256 is valid but has no tenant.
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
