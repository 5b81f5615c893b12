//! How a content is rebuilt from ranges of a data file: one line of `contents.jsonl`.

use std::borrow::Borrow;
use std::ops::Range;
use std::sync::Arc;

/// Each level of a chain leads back 16 times as far as the level below: two to this power.
const LEVEL_BITS: u32 = 4;

/// How many digits of a content's hash a line has. The journal has all of them.
pub(super) const HASH_DIGITS: usize = 16;

/// Ranges of a data file, in the order of the content. Ranges that are adjacent in the file are merged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Extents(pub Vec<Range<u64>>);

impl Extents {
    /// Adds a range at the end.
    pub fn push(&mut self, range: Range<u64>) {
        match self.0.last_mut() {
            _ if range.is_empty() => {}
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.0.push(range),
        }
    }

    /// Total number of bytes.
    pub fn size(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// Adds the ranges of `of` that hold this slice of its content.
    pub fn push_slice(&mut self, of: &Extents, slice: Range<u64>) {
        let mut start = 0;
        for range in &of.0 {
            let end = start + (range.end - range.start);
            let (from, to) = (slice.start.max(start), slice.end.min(end));
            if from < to {
                self.push(range.start + (from - start)..range.start + (to - start));
            }
            if end >= slice.end {
                break;
            }
            start = end;
        }
    }

    /// How many bytes at the beginning and at the end of both contents are the same ranges of the file. The two parts do
    /// not overlap.
    pub fn common(&self, other: &Extents) -> (u64, u64) {
        let least = self.size().min(other.size());
        let (mut front, mut back) = (0, 0);
        for (one, other) in self.0.iter().zip(&other.0) {
            if one.start == other.start {
                front += one.end.min(other.end) - one.start;
            }
            if one != other {
                break;
            }
        }
        for (one, other) in self.0.iter().rev().zip(other.0.iter().rev()) {
            if one.end == other.end {
                back += one.end - one.start.max(other.start);
            }
            if one != other {
                break;
            }
        }
        let front = front.min(least);
        (front, back.min(least - front))
    }
}

/// The recipe of one content: the first bytes of its base, then ranges of the data file, then the last bytes of the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recipe {
    /// The beginning of the content's hash: [`HASH_DIGITS`] digits. Readers of the content compare the complete hash.
    pub hash: String,
    /// In bytes.
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
    pub between: Extents,
}

/// The fields of a line in the file. The last one has two numbers for each range: how far its beginning is from the end of
/// the range before it, and its length.
type Line = (String, u32, u64, Option<u64>, u64, u64, Vec<i64>);

/// The fields of a line of an earlier version: with the whole hash, the size, and the offsets of the ranges.
type FormerLine = (String, u64, u32, u64, Option<u64>, u64, u64, Vec<u64>);

impl Recipe {
    /// The recipe of a content that is completely in these ranges of a data file.
    pub fn complete(hash: &str, file: u32, between: Extents) -> Recipe {
        let (hash, size) = (hash.get(..HASH_DIGITS).unwrap_or(hash).to_owned(), between.size());
        Recipe { hash, size, file, number: 0, base: None, front: 0, back: 0, between }
    }

    /// Parses a line; `None` if it is incomplete or its numbers are invalid.
    pub fn parse(line: &[u8]) -> Option<Recipe> {
        let (hash, file, number, base, front, back, ranges) = match serde_json::from_slice::<Line>(line) {
            Ok(line) => line,
            Err(_) => parse_former(line)?,
        };
        let is_hash = hash.len() == HASH_DIGITS && hash.bytes().all(|digit| digit.is_ascii_hexdigit());
        let (mut between, mut end) = (Extents::default(), 0u64);
        let mut size = front.checked_add(back)?;
        for range in ranges.chunks(2) {
            let [distance, length] = *range else { return None };
            let (start, length) = (end.checked_add_signed(distance)?, u64::try_from(length).ok()?);
            size = size.checked_add(length)?;
            end = start.checked_add(length)?;
            between.push(start..end);
        }
        let is_sound = is_hash && size <= super::MAX_BYTES;
        is_sound.then_some(Recipe { hash, size, file, number, base, front, back, between })
    }

    /// The line, with its end.
    pub fn line(&self) -> Vec<u8> {
        let (mut ranges, mut end) = (Vec::new(), 0);
        for range in &self.between.0 {
            // Files are smaller than 2^63 bytes.
            ranges.extend([range.start.wrapping_sub(end) as i64, (range.end - range.start) as i64]);
            end = range.end;
        }
        let Recipe { hash, file, number, base, front, back, .. } = self;
        let line: Line = (hash.clone(), *file, *number, *base, *front, *back, ranges);
        let mut line = serde_json::to_vec(&line).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// How far back the base of the content of this number is. With bases at powers of 16, a content needs at most 15 others
    /// of each level, and each change is written once a level.
    pub fn step(number: u64) -> u64 {
        1u64.checked_shl(number.trailing_zeros() / LEVEL_BITS * LEVEL_BITS).unwrap_or(1)
    }

    /// Bases the content on another one: the one before it, whose recipe is at `offset`, or one of that one's bases.
    pub fn relate(&mut self, chain: &[Arc<Recipe>], offset: u64, former: Extents) {
        let Some(wanted) = self.number.checked_sub(Recipe::step(self.number)) else { return };
        let Some(at) = chain.iter().position(|recipe| recipe.number == wanted) else { return };
        let base = match at.checked_sub(1) {
            None => Some((offset, former)),
            Some(after) => chain[after].base.zip(extents(&chain[at..])),
        };
        let Some((base, extents)) = base else { return };
        let (front, back) = extents.common(&self.between);
        let mut between = Extents::default();
        between.push_slice(&self.between, front..self.size - back);
        (self.base, self.front, self.back, self.between) = (Some(base), front, back, between);
    }
}

/// A line of an earlier version, with the fields of a present one.
fn parse_former(line: &[u8]) -> Option<Line> {
    let (hash, size, file, number, base, front, back, ranges) =
        serde_json::from_slice::<FormerLine>(line).ok()?;
    let (mut distances, mut end, mut total) = (Vec::new(), 0, front.checked_add(back)?);
    for range in ranges.chunks(2) {
        let [start, length] = *range else { return None };
        distances.extend([start.wrapping_sub(end) as i64, i64::try_from(length).ok()?]);
        end = start.checked_add(length)?;
        total = total.checked_add(length)?;
    }
    let is_sound = super::Objects::is_hash(&hash) && total == size;
    is_sound.then(|| (hash[..HASH_DIGITS].to_owned(), file, number, base, front, back, distances))
}

/// The positions of a content's bytes, from its recipe and its bases in the order of the chain; `None` if the recipes
/// contradict each other.
pub(super) fn extents<R: Borrow<Recipe>>(chain: &[R]) -> Option<Extents> {
    let mut extents = Extents::default();
    resolve(chain, 0..chain.first()?.borrow().size, &mut extents)?;
    Some(extents)
}

/// Adds the ranges with this part of the first recipe's content.
fn resolve<R: Borrow<Recipe>>(recipes: &[R], part: Range<u64>, into: &mut Extents) -> Option<()> {
    if part.is_empty() {
        return Some(());
    }
    let (recipe, others) = recipes.split_first()?;
    let recipe: &Recipe = recipe.borrow();
    let of_base = recipe.front.saturating_add(recipe.back);
    let base_size = others.first().map_or(0, |base| base.borrow().size);
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
        Recipe { hash: "a".repeat(HASH_DIGITS), size, file: 1, number: 0, base: None, front, back, between }
    }

    #[test]
    fn a_line_is_read_back_and_an_invalid_one_is_not() {
        let one = Recipe { base: Some(77), number: 3, ..recipe(20, 5, 5, &[(200, 207), (100, 103)]) };
        let line = one.line();
        assert_eq!(Recipe::parse(&line).as_ref(), Some(&one));
        let text = String::from_utf8(line).unwrap();
        assert_eq!(text, "[\"aaaaaaaaaaaaaaaa\",1,3,77,5,5,[200,7,-107,3]]\n");
        for (from, to) in [("aaa", "xyz"), ("aaa", "a"), ("77", "-7"), ("-107", "-208"), ("3]]", "-3]]")] {
            assert_eq!(Recipe::parse(text.replace(from, to).as_bytes()), None, "{from} {to}");
        }
        for (from, to) in [("3]]", "3,1]]"), ("]]", ""), (",3]", ""), (",1,", ",")] {
            assert_eq!(Recipe::parse(text.replace(from, to).as_bytes()), None, "{from} {to}");
        }
    }

    #[test]
    fn a_line_of_an_earlier_version_is_the_same_recipe() {
        let one = Recipe { base: Some(77), number: 3, ..recipe(20, 5, 5, &[(200, 207), (100, 103)]) };
        let text = format!("[\"{}\",20,1,3,77,5,5,[200,7,100,3]]\n", "a".repeat(64));
        assert_eq!(Recipe::parse(text.as_bytes()), Some(one));
        for (from, to) in [(",20,", ",21,"), ("aaa", "xyz"), ("3]]", "3,1]]"), ("]]", ""), ("100", "-1")] {
            assert_eq!(Recipe::parse(text.replace(from, to).as_bytes()), None, "{from} {to}");
        }
    }

    #[test]
    fn a_chain_leads_to_the_ranges_of_its_first_content() {
        // 0123456789 -> 01234AB789 -> 01234AxB789
        let first = recipe(10, 0, 0, &[(0, 10)]);
        let second = recipe(10, 5, 3, &[(20, 22)]);
        let third = recipe(11, 6, 4, &[(30, 31)]);
        let found = extents(&[&third, &second, &first]).unwrap();
        assert_eq!(found.0, [0..5, 20..21, 30..31, 21..22, 7..10]);
        assert_eq!(extents(&[&third, &second]), None, "a chain that was cut");
        assert_eq!(extents(&[&recipe(12, 8, 4, &[]), &second, &first]), None);
    }

    #[test]
    fn each_content_is_few_steps_from_the_first() {
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

    fn ranges(ranges: &[(u64, u64)]) -> Extents {
        let mut extents = Extents::default();
        ranges.iter().for_each(|(start, end)| extents.push(*start..*end));
        extents
    }

    #[test]
    fn adjacent_ranges_are_merged_and_a_slice_cuts_them() {
        let all = ranges(&[(0, 10), (10, 20), (5, 5), (40, 50)]);
        assert_eq!(all, ranges(&[(0, 20), (40, 50)]));
        assert_eq!(all.size(), 30);
        let mut slice = Extents::default();
        slice.push_slice(&all, 5..25);
        slice.push_slice(&all, 25..25);
        assert_eq!(slice, ranges(&[(5, 20), (40, 45)]));
    }

    #[test]
    fn the_common_beginning_and_end_of_two_contents_do_not_overlap() {
        let old = ranges(&[(0, 100), (120, 130)]);
        assert_eq!(old.common(&ranges(&[(0, 100), (200, 230), (120, 130)])), (100, 10));
        assert_eq!(old.common(&ranges(&[(0, 90), (300, 304), (94, 100), (120, 130)])), (90, 16));
        assert_eq!(old.common(&old), (110, 0));
        assert_eq!(old.common(&ranges(&[(1, 100)])), (0, 0));
        assert_eq!(old.common(&ranges(&[(0, 50)])), (50, 0));
        assert_eq!(ranges(&[(0, 10)]).common(&ranges(&[(0, 20)])), (10, 0));
    }
}
