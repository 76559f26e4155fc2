#if canImport(UIKit) && !os(watchOS)
  public import Foundation
  public import ProcedureKit
  public import UIKit

  /// A procedure that shows an alert and returns the button that the user chose.
  ///
  /// ```swift
  /// let alert = ShowAlert("Delete the photograph?", buttons: [.cancel("Keep"), .destructive("Delete")]) { window.rootViewController }
  /// let choice = try await queue.run(alert)
  /// ```
  ///
  /// Cancellation closes the alert. To keep an app's alerts from overlapping, put them in the same category with
  /// `alert.exclusive("alerts")`.
  public struct ShowAlert: InputlessProcedure {
    /// The title of the alert.
    public var title: String
    /// The text that is shown below the title.
    public var message: String?
    /// The buttons, in order.
    public var buttons: [AlertButton]
    private let presenter: @MainActor @Sendable () -> UIViewController?

    /// Creates a procedure.
    ///
    /// - Parameters:
    ///   - title: The title of the alert.
    ///   - message: The text that is shown below the title.
    ///   - buttons: The buttons, in order.
    ///   - presenter: A closure that returns a view controller. The alert is presented by the topmost view controller that this one
    ///     presents, or by this one if it presents none.
    public init(
      _ title: String, message: String? = nil, buttons: [AlertButton] = [.default("OK")],
      from presenter: @escaping @MainActor @Sendable () -> UIViewController?
    ) {
      (self.title, self.message, self.buttons, self.presenter) = (title, message, buttons, presenter)
    }

    /// The name of the procedure, which is the word "alert" followed by the title in quotation marks.
    public var name: String { "alert \"\(title)\"" }

    /// Shows the alert and waits until the user chooses a button. The body keeps its slot during the wait. Cancellation closes the alert.
    ///
    /// - Returns: The button that the user chose.
    /// - Throws: ``AlertError`` if the alert cannot be shown; `CancellationError` if the procedure is cancelled.
    public func execute() async throws -> AlertButton {
      guard !buttons.isEmpty else { throw AlertError.noButtons(title: title) }
      let (choices, choice) = AsyncStream.makeStream(of: AlertButton.self)
      return try await ProcedureContext.withCancellationHandler {
        try await show(choices, choice)
      } onCancel: {
        choice.finish()
      }
    }

    @MainActor private func show(
      _ choices: AsyncStream<AlertButton>, _ choice: AsyncStream<AlertButton>.Continuation
    ) async throws -> AlertButton {
      guard var presenter = presenter() else { throw AlertError.nowhere(title: title) }
      while let presented = presenter.presentedViewController { presenter = presented }
      let alert = UIAlertController(title: title, message: message, preferredStyle: .alert)
      for button in buttons {
        alert.addAction(UIAlertAction(title: button.title, style: button.role.style) { _ in choice.yield(button) })
      }
      presenter.present(alert, animated: true, completion: nil)
      for await button in choices { return button }
      alert.dismiss(animated: true, completion: nil)
      throw CancellationError()
    }
  }

  /// The reason an alert could not be shown.
  @nonexhaustive
  public enum AlertError: Error, CustomStringConvertible, LocalizedError {
    /// The alert has no buttons, so the user could not close it.
    case noButtons(title: String)
    /// There is no view controller that can present the alert.
    case nowhere(title: String)

    /// A message that explains what failed and what can be done about it.
    public var description: String {
      switch self {
      case .noButtons(let title): "the alert \"\(title)\" was not shown because it has no buttons. Add a button."
      case .nowhere(let title):
        "the alert \"\(title)\" was not shown because no view controller could present it. Wait until a scene is active."
      }
    }

    /// The same text as ``description``.
    public var errorDescription: String? { description }
  }

  extension AlertButton.Role {
    fileprivate var style: UIAlertAction.Style {
      switch self {
      case .default: .default
      case .cancel: .cancel
      case .destructive: .destructive
      }
    }
  }

  extension Condition {
    /// Returns a condition that asks the user for confirmation. If the user declines, the procedure is ignored.
    ///
    /// ```swift
    /// let delete = Delete().condition(.confirmation("Delete the photograph?", confirm: .destructive("Delete")) { controller })
    /// ```
    ///
    /// The app shows only one confirmation at a time; see `Condition.userConfirmation`.
    ///
    /// - Parameters:
    ///   - title: The title of the alert.
    ///   - message: The text that is shown below the title.
    ///   - confirm: The confirmation button.
    ///   - refuse: The button that declines.
    ///   - presenter: A closure that returns the view controller above which the alert is shown; see ``ShowAlert``.
    /// - Returns: The condition. It fails if the alert cannot be shown.
    public static func confirmation(
      _ title: String, message: String? = nil, confirm: AlertButton = .default("OK"),
      refuse: AlertButton = .cancel("Cancel"), from presenter: @escaping @MainActor @Sendable () -> UIViewController?
    ) -> Condition {
      let alert = ShowAlert(title, message: message, buttons: [refuse, confirm], from: presenter)
      return .userConfirmation(title) { try await alert() == confirm }
    }
  }
#endif
