// The check of the symbols' versions must refuse the marked lines on visionOS, and no other lines.
import CoreLocation
import PassKit

@MainActor func askAlways(_ manager: CLLocationManager) {
  manager.requestAlwaysAuthorization()  // refused
  manager.requestWhenInUseAuthorization()
}

func isAlways(_ status: CLAuthorizationStatus) -> Bool {
  switch status {
  case .authorizedAlways: true  // refused
  default: status == .authorizedAlways  // refused
  }
}

func tooNew(_ library: PKPassLibrary) async {
  _ = await library.requestAuthorization(for: .backgroundAddPasses)  // refused
  if #available(visionOS 26, *) {
    _ = await library.requestAuthorization(for: .backgroundAddPasses)
  } else {
    _ = library.authorizationStatus(for: .backgroundAddPasses)  // refused
  }
  guard #available(visionOS 2.4, *) else { return }
  _ = library.authorizationStatus(for: .backgroundAddPasses)  // refused
  guard #available(visionOS 26.1, *) else { return }
  _ = library.authorizationStatus(for: .backgroundAddPasses)
}

func inSignature(_ status: PKPassLibrary.AuthorizationStatus) {}  // refused

@available(visionOS 26, *)
func inNewSignature(_ status: PKPassLibrary.AuthorizationStatus) {}
