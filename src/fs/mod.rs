//! File system primitives: private directories, atomic writes, locks with a time limit, bounded reads.

mod append;
mod atomic;
mod limits;
mod lock;
mod named;
mod over;
mod private;
mod read;
mod stamp;
mod sweep;
mod sync;

pub use append::{Appender, append_line};
pub use atomic::{Draft, beside, write_atomic};
pub use limits::outlive_limits;
pub use lock::{Lock, is_obstructed, lock};
pub use named::named;
pub use over::write_over;
pub use private::{PRIVATE_DIR, PRIVATE_FILE, keep_own_rights, make_private_dir, open_private, private_dir};
pub use read::{Read, open_regular, read_beginning, read_linked, read_regular, read_steady};
pub use stamp::Stamp;
pub use sweep::{sweep, sweep_beside};
pub use sync::{sync_dir, sync_file};
