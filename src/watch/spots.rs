//! The places of the screen, as drawn last, so that the mouse finds what it points at.

use ratatui_core::layout::{Position, Rect};

use super::lists::{Panel, Subject};
use teamkeep_model::time::Timestamp;

/// The content of a place of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spot {
    Panel(Panel),
    /// An item of the panel that it is in.
    Item(Subject),
    /// The bar of the time from one end to the other.
    Time(Timestamp, Timestamp),
}

/// The places of the screen with their contents, the later ones above the earlier ones.
#[derive(Debug, Clone, Default)]
pub struct Spots(Vec<(Rect, Spot)>);

impl Spots {
    pub fn put(&mut self, area: Rect, spot: Spot) {
        self.0.push((area, spot));
    }

    /// The places below the pointer, the topmost first.
    pub fn below(&self, pointer: Position) -> impl Iterator<Item = &(Rect, Spot)> {
        self.0.iter().rev().filter(move |(area, _)| area.contains(pointer))
    }

    /// The panel below the pointer.
    pub fn panel(&self, pointer: Position) -> Option<Panel> {
        self.below(pointer).find_map(|(_, spot)| match spot {
            Spot::Panel(panel) => Some(*panel),
            _ => None,
        })
    }
}
