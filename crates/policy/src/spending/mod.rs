//! The price of the model's messages. The report and the budgets count and price them in the same way.

mod model_id;
mod prices;
mod total;

pub use prices::{AS_OF, PriceList};
pub use total::{PricedMessage, Spending, Total};

/// An amount of US dollars: `$12.34`. An amount that would be rounded to zero is `<$0.01`.
pub fn dollars(usd: f64) -> String {
    if usd > 0.0 && usd < 0.005 { "<$0.01".to_owned() } else { format!("${usd:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_amount_is_not_shown_as_nothing() {
        let shown = [0.0, 0.000_1, 0.004_9, 0.005_1, 0.032_8, 25.0].map(dollars);
        assert_eq!(shown, ["$0.00", "<$0.01", "<$0.01", "$0.01", "$0.03", "$25.00"]);
    }
}
