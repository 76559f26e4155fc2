import Foundation
import ProcedureKit

/// The photograph that comes with the example; `Resources/README.md` tells where it is from.
enum SamplePhotograph {
  /// Where it lies: in the resources that the package manager put beside the executable.
  static var path: SystemText {
    SystemText(Bundle.module.bundleURL.appending(path: "Resources/kitten.ppm").path(percentEncoded: false))
  }
}
