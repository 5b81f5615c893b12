//! Where data is sent. A destination has an identity: another address, organization or host is another destination.

use serde::{Deserialize, Serialize};

use teamkeep_config::Ship;
use teamkeep_model::time::Timestamp;

teamkeep_model::named_enum! {
    /// The kind of a receiver of data.
    pub enum DestinationKind {
        /// An object for each shipment, in an object store.
        ObjectStore = "store",
        /// A file in a directory, which another program reads.
        Directory = "directory",
        /// An OTLP/HTTP receiver.
        Otlp = "otlp",
    }
}

/// The beginning of the BLAKE3 hash of a destination's kind, address, organization and host, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DestinationId(String);

const ID_CHARS: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    pub kind: DestinationKind,
    /// Without a slash at its end.
    pub address: String,
    pub id: DestinationId,
    /// The configured `ship.since`.
    pub since: Option<Timestamp>,
}

impl Destination {
    /// The configured destinations of this host.
    pub fn all(ship: &Ship, host: &str) -> Vec<Destination> {
        let store = ship.store.as_ref().map(|store| (DestinationKind::ObjectStore, store.to_string()));
        let directory = Some(ship.directory.trim_end_matches('/')).filter(|path| !path.is_empty());
        let directory = directory.map(|path| (DestinationKind::Directory, path.to_owned()));
        let otlp = ship.otlp_base().map(|base| (DestinationKind::Otlp, base.to_owned()));
        let destination = |(kind, address): (DestinationKind, String)| {
            let parts = [kind.name(), &address, &ship.organization, host];
            // None of the parts has a line break.
            let mut hash = blake3::hash(parts.join("\n").as_bytes()).to_hex().to_string();
            hash.truncate(ID_CHARS);
            Destination { kind, address, id: DestinationId(hash), since: ship.since }
        };
        store.into_iter().chain(directory).chain(otlp).map(destination).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teamkeep_config::StoreAddress;

    #[test]
    fn another_address_organization_or_host_is_another_destination() {
        let ship = |store: &str, organization: &str| Ship {
            store: StoreAddress::parse(store).unwrap(),
            otlp: "http://h:4318/".to_owned(),
            organization: organization.to_owned(),
            ..Ship::default()
        };
        let all = Destination::all(&ship("s3://b/p", "acme"), "one");
        assert_eq!((all[0].address.as_str(), all[1].address.as_str()), ("s3://b/p", "http://h:4318"));
        assert_eq!(all, Destination::all(&ship("s3://b/p/", "acme"), "one"));
        assert_ne!(all[0].id, all[1].id);
        for (store, organization, host) in
            [("s3://b/q", "acme", "one"), ("s3://b/p", "other", "one"), ("s3://b/p", "acme", "two")]
        {
            assert_ne!(Destination::all(&ship(store, organization), host)[0].id, all[0].id);
        }
        assert_eq!(Destination::all(&Ship::default(), "one"), []);
    }
}
