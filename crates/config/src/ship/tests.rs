use super::super::tests::loaded;
use super::*;

#[test]
fn the_default_is_to_send_nothing_and_else_no_texts() {
    assert_eq!(loaded("", "", "").config.ship, Ship::default());
    assert!(!Ship::default().is_configured() && Ship::default().privacy == ShipPrivacy::Metadata);
    let ship = loaded("", "[ship]\nstore = \"s3://b/p\"\nhost = \"h\"\ninterval = \"1h\"", "").config.ship;
    assert!(ship.is_configured() && ship.store.is_some_and(|store| store.bucket == "b"));
    assert_eq!((ship.host.as_str(), ship.interval), ("h", Duration::from_secs(3_600)));
}

#[test]
fn a_user_can_only_tighten_the_privacy_that_the_organization_has_fixed() {
    let fixed = "[organization]\nfixed = [\"ship\"]\n[ship]\notlp = \"http://h\"\nprivacy = \"redacted\"\n";
    let stricter = loaded(fixed, "[ship]\nprivacy = \"metadata\"", "");
    assert_eq!((stricter.problems.len(), stricter.config.ship.privacy), (0, ShipPrivacy::Metadata));
    for user in [
        "[ship]\nprivacy = \"full\"",
        "[ship]\notlp = \"http://other\"",
        "[ship]\norganization = \"other\"",
        "[ship]\nhost = \"m\"",
        "[privacy]\nredact = []",
    ] {
        let effective = loaded(fixed, user, "");
        let codes: Vec<&str> = effective.problems.iter().map(|problem| problem.code.name()).collect();
        assert_eq!(codes, ["would-loosen"], "{user}");
        assert_eq!(effective.config, loaded(fixed, "", "").config, "{user}");
    }
    let free = loaded("[ship]\nprivacy = \"redacted\"", "[ship]\nprivacy = \"full\"", "");
    assert_eq!((free.problems.len(), free.config.ship.privacy), (0, ShipPrivacy::Full));
}

#[test]
fn a_project_cannot_set_anything() {
    for line in ["store = \"s3://b\"", "privacy = \"metadata\"", "host = \"m\"", "interval = \"2m\""] {
        let effective = loaded("", "", &format!("[ship]\n{line}"));
        assert_eq!(effective.problems[0].code.name(), "not-in-project", "{line}");
        assert_eq!(effective.config.ship, Ship::default());
    }
}

#[test]
fn a_store_is_a_bucket_with_a_prefix_or_a_directory() {
    for (text, scheme, bucket, prefix) in [
        ("s3://bucket", StoreScheme::S3, "bucket", ""),
        ("s3://my.bucket-1/team/keep/", StoreScheme::S3, "my.bucket-1", "team/keep"),
        ("s3://b_1/x=y", StoreScheme::S3, "b_1", "x=y"),
        ("file:///srv/team keep/", StoreScheme::File, "", "/srv/team keep"),
        ("https://gateway.example.com/teamkeep", StoreScheme::Https, "gateway.example.com", "teamkeep"),
        ("https://h:8443/", StoreScheme::Https, "h:8443", ""),
        ("https://[2001:db8::1]:8443/p", StoreScheme::Https, "[2001:db8::1]:8443", "p"),
        ("http://127.0.0.1:8080/p", StoreScheme::Http, "127.0.0.1:8080", "p"),
        ("http://[::1]/p", StoreScheme::Http, "[::1]", "p"),
        ("http://localhost", StoreScheme::Http, "localhost", ""),
    ] {
        let parsed = StoreAddress::parse(text).unwrap().unwrap();
        assert_eq!(
            parsed,
            StoreAddress { scheme, bucket: bucket.to_owned(), prefix: prefix.to_owned() },
            "{text}"
        );
        assert_eq!(parsed.to_string(), text.trim_end_matches('/'));
    }
    assert_eq!(StoreAddress::parse(""), Ok(None));
}

#[test]
fn an_invalid_store_is_rejected_with_the_reason() {
    for (text, why) in [
        ("bucket/prefix", "expected s3://"),
        ("S3://bucket", "expected s3://"),
        ("ftp://bucket", "expected s3://"),
        ("https://", "invalid host"),
        ("https:///p", "invalid host"),
        ("https://h:x/p", "invalid host"),
        ("https://[h]/p", "invalid host"),
        ("https://user@h/p", "credentials"),
        ("https://h/p?token=secret", "credentials"),
        ("https://h/a/../b", "invalid prefix"),
        ("http://gateway.example.com/p", "does not use TLS"),
        ("http://127.0.0.1.example.com/p", "does not use TLS"),
        ("http://10.0.0.1/p", "does not use TLS"),
        ("s3://", "names no bucket"),
        ("s3:///prefix", "names no bucket"),
        ("s3://key:secret@bucket/p", "credentials"),
        ("s3://container/p?sig=secret", "credentials"),
        ("s3://bucket#x", "credentials"),
        ("s3://..", "invalid bucket"),
        ("s3://bücket", "invalid bucket"),
        ("s3://bucket/a//b", "invalid prefix"),
        ("s3://bucket/../b", "invalid prefix"),
        ("s3://bucket/a b", "invalid prefix"),
        ("file://host/dir", "another host"),
        ("file:///", "invalid directory"),
        ("file:///a/../b", "invalid directory"),
        ("file:///a%20b", "invalid directory"),
    ] {
        let error = StoreAddress::parse(text).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn a_receiver_is_a_base_address_without_credentials() {
    for good in ["", "http://localhost:4318", "https://h/otlp/", "https://h/a@b"] {
        assert_eq!(check_otlp(good), Ok(()), "{good}");
    }
    for bad in ["h:4318", "http://u:p@h", "http://h?key=x", "http://h:4318/v1/traces", "http://h/v1/logs/"] {
        assert!(check_otlp(bad).is_err(), "{bad}");
    }
    let ship = |otlp: &str| Ship { otlp: otlp.to_owned(), ..Ship::default() };
    assert_eq!(ship("http://h/x/").otlp_base(), Some("http://h/x"));
    assert_eq!(ship("").otlp_base(), None);
    assert!(ship("http://h").is_configured() && !ship("").is_configured());
}

#[test]
fn names_are_safe_in_the_name_of_an_object() {
    assert!(check_organization("acme-1.eu_x").is_ok() && check_host("").is_ok());
    for bad in ["a/b", "a b", "ä", "..", &"x".repeat(65)] {
        assert!(check_host(bad).is_err() && check_organization(bad).is_err(), "{bad}");
    }
    assert!(check_organization("").is_err());
    for (name, safe) in [("alice's Mac", "alice-s-Mac"), ("", "unknown"), ("..", "unknown"), ("h.x", "h.x")] {
        assert_eq!(safe_name(name), safe);
    }
    assert_eq!(Ship { host: "build-7".to_owned(), ..Ship::default() }.host_name("x"), "build-7");
}

#[test]
fn hook_calls_do_not_start_the_shipper_more_often_than_every_minute() {
    for (text, is_valid) in [("15m", true), ("60s", true), ("59s", false), ("0s", false)] {
        let checked = loaded("", &format!("[ship]\ninterval = \"{text}\""), "");
        assert_eq!(checked.problems.is_empty(), is_valid, "{text}: {:?}", checked.problems);
    }
}

#[test]
fn since_is_a_day_or_a_time() {
    let millis = |text| parse_since(text).map(|since| since.map(Timestamp::millis));
    assert_eq!(millis(""), Ok(None));
    assert_eq!(millis("2026-11-01"), Ok(Some(1_793_491_200_000)));
    assert_eq!(millis("2026-11-01T01:00:00+01:00"), millis("2026-11-01"));
    for bad in ["2026-11", "yesterday", "2026-13-01", "1d", "2026-11-01T08:00:00"] {
        assert!(parse_since(bad).is_err(), "{bad}");
    }
}
