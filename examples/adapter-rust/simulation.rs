// SPDX-License-Identifier: Apache-2.0
// The adapter of ../adapter-c in Rust, without cargo and without crates: the C ABI needs none. Works with rustc 1.63.
mod wharf;

use std::mem::size_of;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use wharf::*;

static HOST: AtomicPtr<Host> = AtomicPtr::new(null_mut());

// Set before anything else is called.
fn host() -> &'static Host {
    unsafe { &*HOST.load(Relaxed) }
}

fn done(done: i32) -> Outcome {
    if done != 0 {
        OK
    } else {
        RETRY
    }
}

// A simulation whose worker was lost goes on where it was last seen, instead of from the start.
unsafe extern "C" fn mirror(_: *const Call, workload: *const Value, mirror: *mut Value) -> Outcome {
    let host = host();
    let steps = (host.integer)((host.find)(workload, text!("/status/completedSteps")), 0);
    if steps <= 0 {
        return OK;
    }
    done((host.set_integer)(mirror, text!("/spec/startAtStep"), steps))
}

// One that is suspended before it was ever placed has no mirror whose controller would say so.
unsafe extern "C" fn status(
    call: *const Call,
    workload: *const Value,
    mirror: *const Value,
    status: *mut Value,
) -> Outcome {
    let host = host();
    let suspended = (host.boolean)((host.find)(workload, text!("/spec/suspend")), 0) != 0;
    let said = !(host.condition)(workload, text!("Suspended"), null()).is_null();
    if !mirror.is_null() || (*call).attempt > 0 || !(suspended || said) {
        return OK;
    }
    let (value, reason, message) = if suspended {
        (text!("True"), text!("SuspendedBeforeStart"), text!("Suspended before it was placed"))
    } else {
        (text!("False"), text!("Resumed"), text!("Waits to be placed"))
    };
    done((host.set_condition)(call, status, text!("Suspended"), value, reason, message))
}

const fn carried(pointer: Text, when: CarryWhen) -> Carried {
    Carried { pointer, when, key: null() }
}

const fn rule(pointer: Text, value: Text, phase: PhaseKind) -> PhaseRule {
    PhaseRule { pointer, value, status: null(), phase }
}

static VERSIONS: Shared<[Text; 2]> = Shared([text!("v1"), null()]);
static CARRIED: Shared<[Carried; 4]> = Shared([
    carried(text!("/spec/suspend"), CARRY_ALWAYS),
    carried(text!("/spec/workers"), CARRY_ALWAYS),
    carried(text!("/spec/template"), CARRY_WHILE_SUSPENDED),
    carried(null(), CARRY_ALWAYS),
]);
// The host deletes mirrors; nodes are those of the worker cluster.
static REMOVED: Shared<[Text; 2]> = Shared([text!("/spec/ttlSecondsAfterFinished"), null()]);
static STATUS_REMOVED: Shared<[Text; 2]> = Shared([text!("/status/nodes"), null()]);
static PODS: Shared<[Pods; 2]> = Shared([
    Pods { templates: text!("/spec/template"), multiplier: [text!("/spec/workers"), null(), null()] },
    Pods { templates: null(), multiplier: [null(); 3] },
]);
static PHASES: Shared<[PhaseRule; 3]> = Shared([
    rule(text!("/status/conditions"), text!("Complete"), SUCCEEDED),
    rule(text!("/status/conditions"), text!("Failed"), FAILED),
    rule(null(), null(), PENDING),
]);

static SIMULATION: Shared<Kind> = Shared(Kind {
    size: size_of::<Kind>(),
    group: text!("batch.example.com"),
    versions: VERSIONS.0.as_ptr(),
    kind: text!("Simulation"),
    plural: text!("simulations"),
    flags: 0,
    managed_by: text!("/spec/managedBy"),
    managed_by_builtin: text!("batch.example.com/simulation-controller"),
    managed_by_allowed: null(),
    managed_by_default: null(),
    suspend: text!("/spec/suspend"),
    suspend_value: null(),
    carried: CARRIED.0.as_ptr(),
    removed: REMOVED.0.as_ptr(),
    pods: PODS.0.as_ptr(),
    status_removed: STATUS_REMOVED.0.as_ptr(),
    observed_generation: text!("/status/observedGeneration"),
    phases: PHASES.0.as_ptr(),
    finished_at: text!("/status/completionTime"),
    phase: None,
    mirror: Some(mirror),
    update: None,
    status: Some(status),
    pod_sets: None,
});

static KINDS: Shared<[*const Kind; 2]> = Shared([&SIMULATION.0, null()]);
static MODULE: Shared<Module> = Shared(Module {
    size: size_of::<Module>(),
    abi_major: ABI_MAJOR,
    abi_minor: 0,
    name: text!("simulation"),
    version: text!("1.0.0"),
    kinds: KINDS.0.as_ptr(),
    settings: null(),
});

/// # Safety
/// For the host only.
#[no_mangle]
pub unsafe extern "C" fn wharf_adapters_v1(
    services: *const Host,
    _settings: *const Value,
    problem: *mut Text,
) -> *const Module {
    if (*services).size < size_of::<Host>() {
        *problem = text!("the host is older than ABI 1.0");
        return null();
    }
    HOST.store(services as *mut Host, Relaxed);
    &MODULE.0
}
