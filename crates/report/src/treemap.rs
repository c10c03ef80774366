//! The layout of a treemap: rectangles whose areas are in proportion to their values, as square as can be.
//!
//! The algorithm is that of Bruls, Huizing and van Wijk, "Squarified Treemaps" (2000): rows are filled along the shorter
//! side for as long as the worst ratio of sides in the row gets better.

/// A rectangle; all numbers are in units of the whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Rect {
    pub fn area(self) -> f64 {
        self.width * self.height
    }
}

/// Divides a rectangle among values; the rectangles are in the order of the values. A value that is not positive has an
/// empty one.
pub fn treemap(values: &[f64], within: Rect) -> Vec<Rect> {
    let empty = Rect { width: 0.0, height: 0.0, ..within };
    let mut rects = vec![empty; values.len()];
    let sum: f64 = values.iter().filter(|value| **value > 0.0).sum();
    if sum <= 0.0 || within.area() <= 0.0 {
        return rects;
    }
    let scale = within.area() / sum;
    let mut order: Vec<usize> = (0..values.len()).filter(|at| values[*at] > 0.0).collect();
    order.sort_by(|one, other| values[*other].total_cmp(&values[*one]));
    let mut rest = within;
    let mut from = 0;
    while from < order.len() {
        let side = rest.width.min(rest.height);
        let mut to = from + 1;
        let mut area = values[order[from]] * scale;
        let (largest, mut worst) = (area, worst_ratio(area, area, area, side));
        while let Some(next) = order.get(to).map(|at| values[*at] * scale) {
            let ratio = worst_ratio(area + next, largest, next, side);
            if ratio > worst {
                break;
            }
            (area, worst, to) = (area + next, ratio, to + 1);
        }
        // What is left to the last row is its own: no gap by rounding.
        let is_last = to == order.len();
        rest = fill(&order[from..to], values, scale, area, is_last, rest, &mut rects);
        from = to;
    }
    rects
}

/// Returns the worst ratio of sides in a row of this area along this side.
fn worst_ratio(area: f64, largest: f64, smallest: f64, side: f64) -> f64 {
    let (area, side) = (area * area, side * side);
    (side * largest / area).max(area / (side * smallest))
}

/// Fills a row along the shorter side, and returns what is left.
fn fill(
    row: &[usize],
    values: &[f64],
    scale: f64,
    area: f64,
    is_last: bool,
    rest: Rect,
    rects: &mut [Rect],
) -> Rect {
    let is_column = rest.width >= rest.height;
    let side = if is_column { rest.height } else { rest.width };
    let whole = if is_column { rest.width } else { rest.height };
    let depth = if is_last { whole } else { (area / side).min(whole) };
    let mut along = 0.0;
    for at in row {
        let length = side * (values[*at] * scale / area);
        rects[*at] = match is_column {
            true => Rect { x: rest.x, y: rest.y + along, width: depth, height: length },
            false => Rect { x: rest.x + along, y: rest.y, width: length, height: depth },
        };
        along += length;
    }
    match is_column {
        true => Rect { x: rest.x + depth, width: rest.width - depth, ..rest },
        false => Rect { y: rest.y + depth, height: rest.height - depth, ..rest },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WHOLE: Rect = Rect { x: 0.0, y: 0.0, width: 6.0, height: 4.0 };

    #[test]
    fn the_example_of_the_paper() {
        let rects = treemap(&[6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0], WHOLE);
        let near = |rect: Rect, x: f64, y: f64, width: f64, height: f64| {
            let sides = [(rect.x, x), (rect.y, y), (rect.width, width), (rect.height, height)];
            sides.iter().all(|(is, expected)| (is - expected).abs() < 1e-9)
        };
        assert!(near(rects[0], 0.0, 0.0, 3.0, 2.0), "{:?}", rects[0]);
        assert!(near(rects[1], 0.0, 2.0, 3.0, 2.0), "{:?}", rects[1]);
        assert!(near(rects[2], 3.0, 0.0, 12.0 / 7.0, 7.0 / 3.0), "{:?}", rects[2]);
    }

    #[test]
    fn nothing_takes_no_room() {
        let rects = treemap(&[0.0, 1.0, -1.0], WHOLE);
        assert_eq!(rects.iter().map(|rect| rect.area()).collect::<Vec<_>>(), [0.0, 24.0, 0.0]);
        assert_eq!(treemap(&[], WHOLE), []);
    }

    proptest! {
        #[test]
        fn areas_are_in_proportion_and_nothing_overlaps(
            values in prop::collection::vec(prop_oneof![Just(0.0), 1.0..1e12_f64], 1..40),
            width in 0.1..2000.0_f64,
            height in 0.1..2000.0_f64,
        ) {
            let within = Rect { x: 0.0, y: 0.0, width, height };
            let rects = treemap(&values, within);
            let sum: f64 = values.iter().sum();
            let (whole, slack) = (within.area(), 1e-6 * (width + height));
            for (rect, value) in rects.iter().zip(&values) {
                if sum > 0.0 {
                    prop_assert!((rect.area() - whole * value / sum).abs() <= 1e-6 * whole);
                }
                prop_assert!(rect.x >= -slack && rect.x + rect.width <= width + slack);
                prop_assert!(rect.y >= -slack && rect.y + rect.height <= height + slack);
            }
            for (at, one) in rects.iter().enumerate() {
                for other in &rects[at + 1..] {
                    let across = (one.x + one.width).min(other.x + other.width) - one.x.max(other.x);
                    let down = (one.y + one.height).min(other.y + other.height) - one.y.max(other.y);
                    prop_assert!(across <= slack || down <= slack || one.area() * other.area() == 0.0);
                }
            }
        }
    }
}
