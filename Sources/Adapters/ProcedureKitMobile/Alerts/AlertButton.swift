#if canImport(UIKit) && !os(watchOS)
  /// A button in an alert.
  public struct AlertButton: Hashable, Sendable {
    /// The role of a button.
    @nonexhaustive
    public enum Role: Hashable, Sendable {
      /// An ordinary choice.
      case `default`
      /// A choice that changes nothing. An alert can have at most one such button.
      case cancel
      /// A choice that deletes or changes data.
      case destructive
    }

    /// The title of the button.
    public var title: String
    /// The role of the button.
    public var role: Role

    /// Creates a button.
    public init(_ title: String, role: Role) {
      (self.title, self.role) = (title, role)
    }

    /// Returns a button for an ordinary choice.
    public static func `default`(_ title: String) -> AlertButton { AlertButton(title, role: .default) }

    /// Returns a button for a choice that changes nothing.
    public static func cancel(_ title: String) -> AlertButton { AlertButton(title, role: .cancel) }

    /// Returns a button for a choice that deletes or changes data.
    public static func destructive(_ title: String) -> AlertButton { AlertButton(title, role: .destructive) }
  }
#endif
