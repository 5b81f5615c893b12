//! Ships what teamkeep recorded to OpenTelemetry collectors and object stores.
