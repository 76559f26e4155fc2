public import Foundation
public import ProcedureKit

extension GraphItemsError: LocalizedError {
  /// The graph and every reason, for the people who wrote the items.
  public var errorDescription: String? { "\(description.prefix(1).uppercased() + description.dropFirst())." }
}
