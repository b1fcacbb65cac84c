//! The pool against the reference model.

use mac_tests::random;
use proptest::prelude::*;

proptest! {
    #![proptest_config(random::config(20_000))]

    #[test]
    fn every_action_is_legal_and_everything_comes_to_its_end(
        data in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        mac_fuzz::pool::check(&data);
    }
}

#[test]
fn the_corpus_of_pool_passes() {
    mac_tests::corpus::replay("pool", mac_fuzz::pool::check);
}
