//! One connection: from its address to the moment it breaks.

use super::{CONNECT_TIMEOUT, Connection, PROBE_EVERY, PROBE_TIMEOUT, State, StoreError, eviction};
use ::redis::aio::MultiplexedConnection;
use ::redis::{AsyncConnectionConfig, Client, Cmd, ErrorKind, IntoConnectionInfo, ProtocolVersion, PushInfo, PushKind, Value};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::time::timeout;

/// The client for `url`, and the place it names, without credentials.
pub(super) fn client(url: &str) -> Result<(Client, String), StoreError> {
    let address = |error: ::redis::RedisError| StoreError::Address { reason: error.to_string() };
    let info = url.into_connection_info().map_err(address)?;
    let place = info.addr().to_string();
    // RESP3, because only its connections tell when they are closed.
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    // Calls are small and waited for.
    let tcp = info.tcp_settings().clone().set_nodelay(true);
    let client = Client::open(info.set_redis_settings(settings).set_tcp_settings(tcp)).map_err(address)?;
    Ok((client, place))
}

/// A new connection to a Redis that can be written to, with `prepare` done.
pub(super) async fn connect(client: &Client, prepare: &Cmd, state: &Arc<State>) -> Result<Connection, String> {
    let broken = Arc::new(Notify::new());
    let on_push = {
        // Weak: the state holds the connection, which holds this.
        let (broken, state) = (Arc::clone(&broken), Arc::downgrade(state));
        move |push: PushInfo| {
            if push.kind == PushKind::Disconnection
                && let Some(state) = state.upgrade()
            {
                state.down(&broken, "connection closed");
            }
            Ok::<(), Infallible>(())
        }
    };
    // Decisions have a deadline of their own, over all that they send.
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(None)
        .set_push_sender(on_push);
    let mut redis = timeout(CONNECT_TIMEOUT, client.get_multiplexed_async_connection_with_config(&config))
        .await
        .map_err(|_| "no answer".to_owned())?
        .map_err(|error| error.to_string())?;
    probe(&mut redis).await?;
    timeout(PROBE_TIMEOUT, prepare.query_async::<Value>(&mut redis))
        .await
        .map_err(|_| "no answer".to_owned())?
        .map_err(|error| error.to_string())?;
    eviction::check(&mut redis, &state.place, &state.evicts).await;
    Ok(Connection { redis, broken })
}

/// Probes the connection until it breaks, and says so.
pub(super) async fn watch(mut connection: Connection, state: &State) {
    loop {
        // A notice of before is kept, so none is missed.
        if timeout(PROBE_EVERY, connection.broken.notified()).await.is_ok() {
            return;
        }
        if let Err(reason) = probe(&mut connection.redis).await {
            state.down(&connection.broken, &reason);
            return;
        }
    }
}

/// Asks for the role, which is answered by a Redis that works, and tells a replica, which would refuse to count.
async fn probe(redis: &mut MultiplexedConnection) -> Result<(), String> {
    match timeout(PROBE_TIMEOUT, ::redis::cmd("ROLE").query_async::<Vec<Value>>(redis)).await {
        Err(_) => Err("no answer".to_owned()),
        Ok(Ok(role)) => match role.first() {
            Some(Value::BulkString(role)) if role.as_slice() != b"master" => Err("it is a replica".to_owned()),
            _ => Ok(()),
        },
        // Some services do not offer the command: an answer it is nevertheless.
        Ok(Err(error)) if matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension) && answers_all_the_same(&error) => {
            Ok(())
        }
        Ok(Err(error)) => Err(error.to_string()),
    }
}

fn answers_all_the_same(error: &::redis::RedisError) -> bool {
    matches!(error.code(), Some("ERR" | "NOPERM"))
}
