//! The price of the model's messages. The report and the budgets count and price them in the same way.

mod message_cost;
mod model_id;
mod prices;
mod total;

pub use message_cost::MessageCost;
pub use prices::{AS_OF, PriceList};
pub use total::{PricedMessage, Spending, Total};
