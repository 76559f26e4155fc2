import Testing
import TestingProcedureKit

extension Trait where Self == ResourceTrait {
  /// The trait of tests that look up the places of steps. Only one thread at a time can look up places, so such tests do not run
  /// concurrently. Otherwise, a test that waits for a lookup would block a thread of the pool that another test could use.
  static var looksUpPlaces: Self { .exclusive("places of steps") }
}
