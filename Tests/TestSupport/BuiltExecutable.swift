public import Foundation

/// A namespace for the executables of this package, which tests run as a user would.
public enum BuiltExecutable {
  /// Returns the location of an executable, beside the bundle of the tests, where the package manager puts all products.
  public static func url(of name: String) -> URL {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
    return (bundle?.deletingLastPathComponent() ?? Bundle.main.bundleURL).appending(path: name)
  }
}
