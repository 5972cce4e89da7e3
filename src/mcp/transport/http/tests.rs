//! Fixtures for the tests of this module.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::conversation::Conversation;
use super::tenant::{NoBackgroundWork, Tenant, TenantBackend, TenantLimits, Usage};
use crate::protocol::{Body, Outcome, Request};
use crate::sessions::Weight;
use crate::sessions::{AdmittedRequest, Service, Session};

/// A service whose results are empty.
struct EmptyService;

impl Service for EmptyService {
    fn weight(&self, _request: &Request<'_>) -> Weight {
        Weight::Light
    }

    fn serve(&self, _exchange: &AdmittedRequest<'_>) -> Option<Outcome> {
        Some(Ok(Body::Raw("{}".into())))
    }
}

/// Returns a conversation with a service whose results are empty.
pub(super) fn conversation() -> Arc<Conversation> {
    Conversation::new(Session::new(Arc::new(EmptyService)))
}

/// Returns a tenant with empty results and this connection limit.
pub(super) fn tenant(name: &str, max_connections: usize) -> Arc<Tenant> {
    tenant_with(name, max_connections, Usage::default)
}

/// The same, with a usage report.
pub(super) fn tenant_with(name: &str, max_connections: usize, usage: fn() -> Usage) -> Arc<Tenant> {
    tenant_serving(name, max_connections, usage, Arc::new(EmptyService))
}

/// Returns a tenant with this service, one call at a time.
pub(super) fn tenant_serving(
    name: &str,
    max_connections: usize,
    usage: fn() -> Usage,
    service: Arc<dyn Service>,
) -> Arc<Tenant> {
    let place = Box::new(|| Value::Null);
    let background_work = Box::new(NoBackgroundWork);
    let backend = TenantBackend {
        service,
        tools: Vec::new(),
        usage: Box::new(usage),
        place,
        background_work,
    };
    let limits = TenantLimits {
        per_minute: 0,
        burst: 1,
        max_calls: 1,
        max_sessions: 1,
        session_idle: Duration::from_secs(1),
        max_connections,
    };
    Tenant::new(name.to_owned(), None, true, backend, limits)
}
