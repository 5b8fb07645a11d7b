"""Hopper with one driven leg, the smallest robot for a learning task, as MJCF."""

HOPPER = """
<mujoco model="hopper">
  <worldbody>
    <body name="trunk" pos="0 0 0.5">
      <freejoint/>
      <geom name="trunk" type="sphere" size="0.1" mass="2"/>
      <body name="leg" pos="0 0 -0.1">
        <joint name="leg" axis="0 1 0"/>
        <geom name="leg" type="sphere" size="0.05" pos="0 0 -0.2" mass="1"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="leg" joint="leg" ctrlrange="-9 9"/></actuator>
</mujoco>
"""
