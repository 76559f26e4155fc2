import Logging
import ProcedureKit
import ProcedureKitFoundation
import ServiceLifecycle

let jobs = ProcedureQueue("jobs", maxConcurrentProcedures: 8)
let service = ProcedureQueueService(jobs, grace: .seconds(20)) { try await gracefulShutdown() }
let group = ServiceGroup(
  configuration: ServiceGroupConfiguration(
    services: [ServiceGroupConfiguration.ServiceConfiguration(service: service)],
    gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "com.example.photos")))
try await group.run()

// swift-format-ignore: AvoidRetroactiveConformances
extension ProcedureQueueService: @retroactive Service {}
