//! Weir as users run it: a real Envoy with the built filter, the built authority, a real Redis, HTTP from outside.
//!
//! The configuration is the shipped one, edited where a test says so. Tests that prove a row of the specification carry its
//! number: `d02_…` proves something of decision 2.
//!
//! | module | what it proves |
//! |---|---|
//! | [`catalog`] | a user's bucket, what is told about it, and that others do not notice |
//! | [`tenant`] | a tenant's minute over all its users |
//! | [`front_door`] | addresses: logins, bad tokens, what strangers are told |
//! | [`hierarchy`] | all rules of a route in one decision: all are charged, or none |
//! | [`subjects`] | whoever is somebody else is counted apart, whatever the names |
//! | [`exactness`] | a limit is met to the unit, however many ask at once |
//! | [`outage`] | Redis or the authority away, hanging, and back |
//! | [`fallback`] | what a gateway admits by itself: shares and caps |
//! | [`local`] | what a gateway counts for itself in any case |
//! | [`flood`] | a denied key costs the store four calls a second |
//! | [`departures`] | clients that go away while they wait |
//! | [`crowds`] | hundreds of streams completed by one answer |
//! | [`bodies`] | bodies that arrive during a decision |
//! | [`bytes`] | headers and paths that are no text |
//! | [`claims`] | claims that name nobody |
//! | [`certificates`] | callers known by their client certificate |
//! | [`grpc`] | callers that speak gRPC |
//! | [`routing`] | how a request finds its route |
//! | [`metrics`] | what is counted, and what is never written down |
//! | [`configs`] | the shipped files, and broken ones |
//!
//! | help | what it gives |
//! |---|---|
//! | [`caller`] | requests and answers |
//! | [`harm`] | whether something has harmed the gateway |
//! | [`patience`] | waiting for something to become true |
//! | [`policy`] | edits of the policy |
//! | [`routes`] | edits of Envoy's routes |
//! | [`witness`] | what is in Redis |

#[macro_use]
mod stores;

mod bodies;
mod bytes;
mod caller;
mod catalog;
mod certificates;
mod claims;
mod configs;
mod crowds;
mod departures;
mod exactness;
mod fallback;
mod flood;
mod front_door;
mod grpc;
mod harm;
mod hierarchy;
mod local;
mod metrics;
mod outage;
mod patience;
mod policy;
mod queues;
mod routes;
mod routing;
mod subjects;
mod tenant;
mod witness;
