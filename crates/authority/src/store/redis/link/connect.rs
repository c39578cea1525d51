//! One connection: from its address to the moment it breaks.

use super::probe::Probe;
use super::waits::Waits;
use super::{CONNECT_TIMEOUT, Connection, PROBE_EVERY, PROBE_TIMEOUT, Source, State};
use ::redis::aio::MultiplexedConnection;
use ::redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, PushInfo, PushKind, RedisError, Value};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::time::timeout;

/// How many probes go by between two that also look at memory, replicas and the source.
const INSPECT_EVERY: u32 = 4;

/// A new connection to a Redis that can be written to, with `prepare` done.
pub(super) async fn connect(source: &mut Source, prepare: &Cmd, state: &Arc<State>) -> Result<(Connection, Probe), String> {
    let (client, place) = source.find().await?;
    let at = |reason: String| format!("{reason} at {place}");
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
    let config = config().set_push_sender(on_push);
    let mut redis = open(&client, &config).await.map_err(at)?;
    let mut probe = Probe::new(Arc::clone(state));
    probe.look(&mut redis).await.map_err(at)?;
    ask::<Value>(&mut redis, prepare).await.map_err(at)?;
    probe.inspect(&mut redis).await.map_err(at)?;
    let place = place.as_str().into();
    Ok((Connection { redis, broken, place, waits: Arc::new(Waits::default()) }, probe))
}

/// Probes the connection until it breaks, and says so.
pub(super) async fn watch(mut connection: Connection, mut probe: Probe, source: &mut Source, state: &State) {
    let broken = Arc::clone(&connection.broken);
    let watched = async {
        let mut round = 0_u32;
        loop {
            tokio::time::sleep(PROBE_EVERY).await;
            probe.look(&mut connection.redis).await?;
            round += 1;
            if round.is_multiple_of(INSPECT_EVERY) {
                probe.inspect(&mut connection.redis).await?;
                source.confirm(&connection.place).await?;
            }
        }
    };
    // A notice of before is kept, so none is missed.
    let reason: Result<std::convert::Infallible, String> = tokio::select! {
        () = broken.notified() => return,
        reason = watched => reason,
    };
    let Err(reason) = reason;
    state.down(&broken, &reason);
}

/// Decisions have a deadline of their own, over all that they send.
fn config() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new().set_connection_timeout(Some(CONNECT_TIMEOUT)).set_response_timeout(None)
}

async fn open(client: &Client, config: &AsyncConnectionConfig) -> Result<MultiplexedConnection, String> {
    timeout(CONNECT_TIMEOUT, client.get_multiplexed_async_connection_with_config(config))
        .await
        .map_err(|_| "no answer".to_owned())?
        .map_err(|error| told(&error))
}

/// One command of the link's own, which does not wait for ever.
pub(in crate::store::redis) async fn ask<T: FromRedisValue>(
    redis: &mut MultiplexedConnection,
    command: &Cmd,
) -> Result<T, String> {
    timeout(PROBE_TIMEOUT, command.query_async(redis)).await.map_err(|_| "no answer".to_owned())?.map_err(|error| told(&error))
}

/// A connection for questions alone.
pub(in crate::store::redis) async fn dial(client: &Client) -> Result<MultiplexedConnection, String> {
    timeout(PROBE_TIMEOUT, open(client, &config())).await.map_err(|_| "no answer".to_owned())?
}

/// An error, for people, with what to do about it where that is known.
fn told(error: &RedisError) -> String {
    if error.is_timeout() {
        return "no answer".to_owned();
    }
    let remedy = match error.code() {
        Some("NOAUTH") => ": it wants a password; give it in WEIR_REDIS_PASSWORD",
        Some("WRONGPASS") => ": see the user of the URL and WEIR_REDIS_PASSWORD",
        Some("NOPERM") => ": see the list of commands that the authority needs",
        _ => "",
    };
    format!("{error}{remedy}")
}
