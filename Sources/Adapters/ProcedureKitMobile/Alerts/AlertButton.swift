#if canImport(UIKit) && !os(watchOS)
  /// A button of an alert.
  public struct AlertButton: Hashable, Sendable {
    /// What a button stands for.
    public enum Role: Hashable, Sendable {
      /// An ordinary choice.
      case `default`
      /// Leaves everything as it is. An alert has at most one such button.
      case cancel
      /// Deletes or changes data.
      case destructive
    }

    /// The text of the button.
    public var title: String
    /// What the button stands for.
    public var role: Role

    /// Creates a button.
    public init(_ title: String, role: Role) {
      (self.title, self.role) = (title, role)
    }

    /// Returns a button for an ordinary choice.
    public static func `default`(_ title: String) -> AlertButton { AlertButton(title, role: .default) }

    /// Returns a button that leaves everything as it is.
    public static func cancel(_ title: String) -> AlertButton { AlertButton(title, role: .cancel) }

    /// Returns a button that deletes or changes data.
    public static func destructive(_ title: String) -> AlertButton { AlertButton(title, role: .destructive) }
  }
#endif
