//! The layout of a scale: a bar from nothing to everything, with marks whose labels do not run into each other.

/// The rows in which labels stand at these places, so that in each row two are at least `apart` from each other. The
/// places are parts of the whole; the lowest possible row is taken.
pub fn rows(places: &[f64], apart: f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|one, other| places[*one].total_cmp(&places[*other]));
    let mut ends: Vec<f64> = Vec::new();
    let mut rows = vec![0; places.len()];
    for at in order {
        let place = places[at];
        let free = ends.iter().position(|end| *end <= place);
        let row = free.unwrap_or(ends.len());
        match ends.get_mut(row) {
            Some(end) => *end = place + apart,
            None => ends.push(place + apart),
        }
        rows[at] = row;
    }
    rows
}

/// Returns a part of a whole, between 0 and 1.
pub fn part(amount: f64, whole: f64) -> f64 {
    match whole > 0.0 {
        true => (amount / whole).clamp(0.0, 1.0),
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn near_labels_stand_in_rows_of_their_own() {
        assert_eq!(rows(&[0.80, 0.85, 0.86, 0.10], 0.3), [0, 1, 2, 0]);
        assert!(rows(&[], 0.3).is_empty());
        assert_eq!(rows(&[0.5, 0.1], 0.3), [0, 0]);
    }

    #[test]
    fn parts_are_of_a_whole() {
        assert_eq!(
            [part(1.0, 4.0), part(9.0, 4.0), part(1.0, 0.0), part(-1.0, 4.0)],
            [0.25, 1.0, 0.0, 0.0]
        );
    }

    proptest! {
        #[test]
        fn labels_of_a_row_are_apart(places in prop::collection::vec(0.0..1.0_f64, 0..20)) {
            let rows = rows(&places, 0.2);
            for (one, row) in rows.iter().enumerate() {
                for (other, its) in rows.iter().enumerate().skip(one + 1) {
                    prop_assert!(row != its || (places[one] - places[other]).abs() >= 0.2 - 1e-9);
                }
            }
        }
    }
}
