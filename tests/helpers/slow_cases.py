"""Cases that take more than about six seconds and have a quicker sibling: they run with -m slow.

Each is the end of a node id. Whole tests that take minutes carry the marker themselves.
"""

from __future__ import annotations

SLOW_CASES = (
    "test_experiments.py::test_all_that_must_hold_does[paula2024]",
    "test_falls.py::test_random_torques_and_pushes_end_in_no_explosion[hyq-256]",
    "test_falls.py::test_a_fall_gains_no_energy[hyq-moreau]",
    "test_many_contacts.py::test_a_robot_that_lies_on_many_points_is_solved_on_the_edges[0.0]",
    "test_many_contacts.py::test_a_robot_that_lies_on_many_points_is_solved_on_the_edges[0.8]",
    "test_faces_on_peaks.py::test_what_tumbles_on_waves_lies_on_their_crests"
    "[type='cylinder' size='.2 .05']",
    "test_rims_in_corners.py::test_a_disc_does_not_sink_into_corners_and_hollows[sine]",
    "test_rims_in_corners.py::test_a_wheel_stops_at_a_riser[soft_convex]",
    "test_rims_in_corners.py::test_a_wheel_stops_at_a_riser[lcp_impulse]",
    "test_rims_in_corners.py::test_worlds_have_the_bits_of_one",
    "test_striking_limb.py::test_it_comes_to_rest_beside_a_box_that_stands[float32]",
    "test_ellipsoids_in_hollows.py::test_steppers_that_gather_no_contacts_see_them[event_driven]",
    "test_holding_a_posture.py::test_a_robot_stands_still_from_the_first_step[biped]",
    "test_holding_a_posture.py::test_a_robot_stands_still_from_the_first_step[starleth]",
    "test_stacks.py::test_two_boxes_rest_on_each_other[soft_convex-0]",
    "test_stacks.py::test_two_boxes_rest_on_each_other[soft_convex-20]",
    "test_stacks.py::test_two_boxes_rest_on_each_other[compliant-20]",
    "test_stacks.py::test_laws_without_a_limit_say_nothing",
    "test_stacks.py::test_the_limit_that_is_told_is_where_a_stack_stops_to_rest[2-20]",
    "test_validation_processes.py::test_work_is_done_in_order_by_others_only_where_it_is_worth_it",
    "test_outermost.py::test_candidates_that_are_named_all_touch_and_uneven_ground_meets_all",
    "test_judge.py::test_contacts_between_bodies_and_ends_are_judged_too",
    "test_where_episodes_begin.py::test_no_shin_begins_in_a_crest",
    "test_field_style.py::test_it_stands_by_its_own_servos",
    "test_what_may_touch.py::test_the_whole_body_on_flat_ground_and_else_the_feet",
    "test_what_may_touch.py::test_a_log_has_the_feet_and_what_touched",
    "test_fixed_and_floating_bases.py::test_an_arm_that_floats_is_told_how_to_hold_it",
    "test_file_contacts.py::test_environments_plans_and_lessons_take_the_numbers_of_a_file",
    "test_file_contacts.py::test_numbers_are_told_as_the_user_gives_them",
    "test_world_ground.py::test_a_robot_that_stands_on_its_own_file_s_ground_is_told_of_none",
    "test_own_robots.py::test_a_free_object_beside_the_robot_stays_where_its_file_puts_it",
    "test_between_ends.py::test_derivatives_of_a_step_that_rolls_and_slides_on_a_crest",
    "test_hanging_robots.py::test_a_robot_beside_a_door_starts_stands_and_is_sized_as_alone",
    "test_steppers.py::test_the_stability_notice_looks_at_the_inner_step",
    "test_outcome.py::test_a_gait_is_named_by_what_it_does[hoap1-squat-4.0-squatted]",
    "test_broad_phase.py::test_what_is_near_is_found_as_without[limbs-rough]",
)
