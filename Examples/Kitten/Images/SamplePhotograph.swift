import Foundation
import ProcedureKit

/// The photograph that comes with the example. For its source, see `Resources/README.md`.
enum SamplePhotograph {
  /// The path of the photograph in the resources, which the package manager places next to the executable.
  static var path: SystemText {
    SystemText(Bundle.module.bundleURL.appending(path: "Resources/kitten.ppm").path(percentEncoded: false))
  }
}
