import Foundation
import ProcedureKit

/// The photograph of the example; `Resources/README.md` names its source.
enum SamplePhotograph {
  /// Its path in the resources that the package manager places next to the executable.
  static var path: SystemText {
    SystemText(Bundle.module.bundleURL.appending(path: "Resources/kitten.ppm").path(percentEncoded: false))
  }
}
