//! Requests of bounded size.

use prost::Message;

/// Maximum number of spans, log records or metrics of a request.
const MAX_ITEMS: usize = 1_000;
/// Maximum size of a request in protobuf. In JSON the same data can be about twice as large.
const MAX_BYTES: usize = 1 << 20;

/// Splits the items, in order, into the parts that one request each can have. An item that is larger than a request gets one
/// of its own.
pub fn batches<T: Message>(items: Vec<T>) -> Vec<Vec<T>> {
    let mut batches: Vec<Vec<T>> = Vec::new();
    let mut bytes = 0;
    for item in items {
        let size = item.encoded_len();
        match batches.last_mut() {
            Some(batch) if batch.len() < MAX_ITEMS && bytes + size <= MAX_BYTES => {
                batch.push(item);
                bytes += size;
            }
            _ => {
                batches.push(vec![item]);
                bytes = size;
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::trace::v1::Span;

    use super::*;

    fn spans(count: usize, name_bytes: usize) -> Vec<Span> {
        vec![Span { name: "x".repeat(name_bytes), ..Span::default() }; count]
    }

    #[test]
    fn a_request_has_a_bounded_number_of_items_and_bytes() {
        let counts = |items: Vec<Span>| batches(items).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(counts(spans(2_001, 10)), [1_000, 1_000, 1]);
        assert_eq!(counts(spans(3, MAX_BYTES / 2 - 100)), [2, 1]);
        assert_eq!(counts(spans(2, 2 * MAX_BYTES)), [1, 1]);
        assert_eq!(counts(Vec::new()), [0; 0]);
    }
}
