//! Subscriptions of a client to changed lists and updated resources.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use replay_base::cancel::CancelToken;
use replay_base::limits::MAX_MOCK_HANG_MS;
use replay_mcp::protocol::{Body, Code, Outcome, RpcError, notification};
use replay_mcp::sessions::{AdmittedRequest, Outbox};
use serde_json::{Value, json};

use super::catalog::Catalog;
use super::client::ClientState;
use super::sync::{lock, wait};

/// Key that links a notification to the request that subscribed (2026-07-28,
/// basic/patterns/subscriptions).
const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Subscriptions of handshake and stateless clients.
#[derive(Default)]
pub(crate) struct Subscriptions {
    client: Arc<ClientState>,
    outbox: Mutex<Option<Arc<dyn Outbox>>>,
    /// URIs of subscribed resources, in handshake revisions.
    uris: Mutex<HashSet<String>>,
    /// Open `subscriptions/listen` requests of stateless revisions: id and filter.
    listeners: Mutex<Vec<(Value, Value)>>,
    /// Resources whose updates have started.
    begun: Mutex<HashSet<String>>,
}

impl Subscriptions {
    pub(crate) fn of(client: Arc<ClientState>) -> Arc<Self> {
        Arc::new(Self {
            client,
            ..Self::default()
        })
    }

    /// Sets the outbox to the client.
    pub(crate) fn connect(&self, outbox: Arc<dyn Outbox>) {
        *lock(&self.outbox) = Some(outbox);
    }

    /// Notifies all subscribers that a list has changed.
    pub(crate) fn announce_list(&self, kind: &str) {
        let method = format!("notifications/{kind}/list_changed");
        let wish = format!("{kind}ListChanged");
        self.announce(&method, &json!({}), self.client.is_open(), &|wishes| {
            wishes[&wish] == true
        });
    }

    fn announce_update(&self, uri: &str) {
        let subscribed = lock(&self.uris).contains(uri);
        let wanted = |wishes: &Value| {
            wishes["resourceSubscriptions"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|wanted| wanted == uri)
        };
        self.announce(
            "notifications/resources/updated",
            &json!({"uri": uri}),
            subscribed,
            &wanted,
        );
    }

    fn announce(&self, method: &str, params: &Value, plain: bool, wanted: &dyn Fn(&Value) -> bool) {
        let Some(outbox) = lock(&self.outbox).clone() else {
            return;
        };
        if plain {
            outbox.send(&notification(method, params));
        }
        let ids: Vec<Value> = lock(&self.listeners)
            .iter()
            .filter(|(_, wishes)| wanted(wishes))
            .map(|(id, _)| id.clone())
            .collect();
        for id in ids {
            let mut params = params.clone();
            params["_meta"] = json!({ SUBSCRIPTION_KEY: id });
            outbox.send(&notification(method, &params));
        }
    }

    pub(crate) fn subscribe(self: &Arc<Self>, catalog: &Catalog, params: &Value) -> Outcome {
        let uri = params["uri"].as_str().unwrap_or_default();
        if !catalog.resources.iter().any(|resource| resource.uri == uri) {
            let message = format!("no resource `{uri}`; resources/list has the URIs");
            return Err(RpcError::new(Code::InvalidParams, message));
        }
        lock(&self.uris).insert(uri.to_owned());
        self.begin_updates(catalog, uri);
        Ok(Body::Raw("{}".into()))
    }

    pub(crate) fn unsubscribe(&self, params: &Value) {
        lock(&self.uris).remove(params["uri"].as_str().unwrap_or_default());
    }

    /// Serves `subscriptions/listen`, a request that stays open while the client wants
    /// notifications.
    pub(crate) fn listen(
        self: &Arc<Self>,
        catalog: &Catalog,
        exchange: &AdmittedRequest<'_>,
        params: &Value,
    ) -> Option<Outcome> {
        let id: Value = serde_json::from_str(exchange.ticket.id.as_json()).unwrap_or_default();
        let wishes = params["notifications"].clone();
        let acknowledged = json!({"notifications": wishes, "_meta": { SUBSCRIPTION_KEY: id }});
        exchange.outbox.send(&notification(
            "notifications/subscriptions/acknowledged",
            &acknowledged,
        ));
        lock(&self.listeners).push((id.clone(), wishes.clone()));
        for uri in wishes["resourceSubscriptions"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            self.begin_updates(catalog, uri);
        }
        wait(
            Duration::from_millis(MAX_MOCK_HANG_MS),
            &[&exchange.ticket.cancel, &self.client.over],
        );
        lock(&self.listeners).retain(|(known, _)| *known != id);
        if exchange.ticket.cancel.is_cancelled() {
            return None;
        }
        let result = json!({"resultType": "complete", "_meta": { SUBSCRIPTION_KEY: id }});
        Some(Ok(Body::Raw(result.to_string().into())))
    }

    /// Starts the scheduled updates of a resource, once.
    fn begin_updates(self: &Arc<Self>, catalog: &Catalog, uri: &str) {
        let Some(resource) = catalog
            .resources
            .iter()
            .find(|resource| resource.uri == uri)
        else {
            return;
        };
        if resource.updates.is_empty() || !lock(&self.begun).insert(uri.to_owned()) {
            return;
        }
        let resource = resource.clone();
        let own = Arc::clone(self);
        let over: CancelToken = self.client.over.clone();
        let spawned = thread::Builder::new()
            .name("updates".to_owned())
            .spawn(move || {
                for update in &resource.updates {
                    wait(Duration::from_millis(update.after_ms), &[&over]);
                    if over.is_cancelled() {
                        return;
                    }
                    resource.update(&update.text);
                    own.announce_update(&resource.uri);
                }
            });
        if let Err(error) = spawned {
            tracing::warn!("no thread for the updates of `{uri}`: {error}");
        }
    }
}
