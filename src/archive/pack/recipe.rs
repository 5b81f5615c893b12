//! How a content is rebuilt from ranges of a data file: one line of `contents.jsonl`.

use std::borrow::Borrow;
use std::io;
use std::ops::Range;

use super::extents::Extents;

/// The most recipes of a chain. Chains that teamkeep writes have about 60.
const MAX_CHAIN: usize = 1 << 12;

/// Each level of a chain leads back this many times as far as the level below.
const LEVEL: u64 = 16;

/// The recipe of one content: the first bytes of its base, then ranges of the data file, then the last bytes of the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recipe {
    /// The content's hash.
    pub hash: String,
    /// Its size in bytes.
    pub size: u64,
    /// The number of the data file.
    pub file: u32,
    /// Its number in its chain, from 0.
    pub number: u64,
    /// The offset of the base's line in `contents.jsonl`. The first content of a chain has none.
    pub base: Option<u64>,
    /// How many bytes it shares with the beginning of the base.
    pub front: u64,
    /// How many bytes it shares with the end of the base.
    pub back: u64,
    /// The bytes in between.
    pub between: Extents,
}

/// The fields of a line in the file.
type Line = (String, u64, u32, u64, Option<u64>, u64, u64, Vec<u64>);

impl Recipe {
    /// Parses a line; `None` if it is incomplete or its numbers contradict each other.
    pub fn parse(line: &[u8]) -> Option<Recipe> {
        let (hash, size, file, number, base, front, back, ranges) =
            serde_json::from_slice::<Line>(line).ok()?;
        let mut between = Extents::default();
        let mut total = front.checked_add(back)?;
        for range in ranges.chunks(2) {
            let [start, length] = *range else { return None };
            total = total.checked_add(length)?;
            between.push(start..start.checked_add(length)?);
        }
        let is_sound = super::is_hash(&hash) && total == size && size <= super::LARGEST;
        is_sound.then_some(Recipe { hash, size, file, number, base, front, back, between })
    }

    /// The line, with its end.
    pub fn line(&self) -> Vec<u8> {
        let ranges: Vec<u64> =
            self.between.iter().flat_map(|range| [range.start, range.end - range.start]).collect();
        let Recipe { hash, size, file, number, base, front, back, .. } = self;
        let line: Line = (hash.clone(), *size, *file, *number, *base, *front, *back, ranges);
        let mut line = serde_json::to_vec(&line).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// How far back the base of the content of this number is. With bases at powers of 16, a content needs at most 15 others
    /// of each level, and each change is written once a level.
    pub fn step(number: u64) -> u64 {
        let mut step = 1;
        while number.is_multiple_of(step * LEVEL) && number > 0 {
            step *= LEVEL;
        }
        step
    }
}

/// Follows the bases of the recipe at an offset; `get` reads the recipe at an offset.
///
/// # Errors
/// `InvalidData` for bases that are not earlier lines with the same data file, or too many; else the errors of `get`.
pub(super) fn chain<R: Borrow<Recipe>>(
    place: u64,
    mut get: impl FnMut(u64) -> io::Result<R>,
) -> io::Result<Vec<R>> {
    let mut chain: Vec<R> = Vec::new();
    let mut next = Some(place);
    while let Some(place) = next {
        let found = get(place)?;
        let recipe: &Recipe = found.borrow();
        let follows = chain.last().is_none_or(|last| last.borrow().file == recipe.file);
        next = recipe.base.filter(|base| *base < place);
        if !follows || chain.len() >= MAX_CHAIN || next != recipe.base {
            return Err(io::ErrorKind::InvalidData.into());
        }
        chain.push(found);
    }
    Ok(chain)
}

/// Where the bytes of a content are, by its recipe and its bases in the order of the chain; `None` when the recipes
/// contradict each other.
pub(super) fn extents(chain: &[&Recipe]) -> Option<Extents> {
    let mut extents = Extents::default();
    resolve(chain, 0..chain.first()?.size, &mut extents)?;
    Some(extents)
}

/// Adds the ranges that hold this part of the first recipe's content.
fn resolve(recipes: &[&Recipe], part: Range<u64>, into: &mut Extents) -> Option<()> {
    if part.is_empty() {
        return Some(());
    }
    let (recipe, others) = recipes.split_first()?;
    let of_base = recipe.front.saturating_add(recipe.back);
    let base_size = others.first().map_or(0, |base| base.size);
    if part.end > recipe.size || of_base > base_size {
        return None;
    }
    let end = recipe.size - recipe.back;
    resolve(others, part.start.min(recipe.front)..part.end.min(recipe.front), into)?;
    let between = |at: u64| at.clamp(recipe.front, end) - recipe.front;
    into.push_slice(&recipe.between, between(part.start)..between(part.end));
    let back = |at: u64| base_size - (recipe.size - at.max(end));
    resolve(others, back(part.start)..back(part.end), into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(size: u64, front: u64, back: u64, ranges: &[(u64, u64)]) -> Recipe {
        let mut between = Extents::default();
        ranges.iter().for_each(|(start, end)| between.push(*start..*end));
        Recipe { hash: "a".repeat(64), size, file: 1, number: 0, base: None, front, back, between }
    }

    #[test]
    fn a_line_comes_back_and_one_that_makes_no_sense_is_none() {
        let one = Recipe { base: Some(77), number: 3, ..recipe(20, 5, 5, &[(100, 107), (200, 203)]) };
        let line = one.line();
        assert_eq!(Recipe::parse(&line).as_ref(), Some(&one));
        let text = String::from_utf8(line).unwrap();
        for (from, to) in
            [(",20,", ",21,"), ("aaa", "xyz"), ("77", "-7"), ("203", ""), ("3]]", "3,1]]"), ("]]", "")]
        {
            let text = text.replace(from, to);
            assert_eq!(Recipe::parse(text.as_bytes()).filter(|read| *read != one), None, "{text}");
        }
    }

    #[test]
    fn a_chain_leads_to_the_ranges_of_its_first_content() {
        // 0123456789 -> 01234AB789 -> 01234AxB789
        let first = recipe(10, 0, 0, &[(0, 10)]);
        let second = recipe(10, 5, 3, &[(20, 22)]);
        let third = recipe(11, 6, 4, &[(30, 31)]);
        let ranges: Vec<Range<u64>> = extents(&[&third, &second, &first]).unwrap().iter().cloned().collect();
        assert_eq!(ranges, [0..5, 20..21, 30..31, 21..22, 7..10]);
        assert_eq!(extents(&[&third, &second]), None, "a chain that was cut");
        assert_eq!(extents(&[&recipe(12, 8, 4, &[]), &second, &first]), None);
    }

    #[test]
    fn no_content_is_far_from_the_first() {
        for number in [1, 15, 16, 255, 256, 65_535, 100_000] {
            let (mut at, mut steps) = (number, 0);
            while at > 0 {
                at -= Recipe::step(at);
                steps += 1;
            }
            assert!(steps <= 75, "{number}: {steps}");
        }
        assert_eq!([1, 15, 16, 32, 256, 4_096].map(Recipe::step), [1, 1, 16, 16, 256, 4_096]);
    }
}
