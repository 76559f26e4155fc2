/// Internal. As much room as a processor fetches at once, between what is changed often and what others read meanwhile: they
/// would wait for each change of it.
struct CacheLinePadding: Sendable {
  private let words = (0, 0, 0, 0, 0, 0, 0, 0)
}
